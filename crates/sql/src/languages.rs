//! Codes of languages.

/// The codes of ISO 639-1, each followed by the one of ISO 639-3 for the same language, in order.
const CODES: &str = "\
    aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak bebel \
    bgbul bhbih bibis bmbam bnben bobod brbre bsbos cacat ceche chcha cocos crcre csces \
    cuchu cvchv cycym dadan dedeu dvdiv dzdzo eeewe elell eneng eoepo esspa etest eueus \
    fafas ffful fifin fjfij fofao frfra fyfry gagle gdgla glglg gngrn guguj gvglv hahau \
    heheb hihin hohmo hrhrv hthat huhun hyhye hzher iaina idind ieile igibo iiiii ikipk \
    ioido isisl itita iuiku jajpn jvjav kakat kgkon kikik kjkua kkkaz klkal kmkhm knkan \
    kokor krkau kskas kukur kvkom kwcor kykir lalat lbltz lglug lilim lnlin lolao ltlit \
    lulub lvlav mgmlg mhmah mimri mkmkd mlmal mnmon mrmar msmsa mtmlt mymya nanau nbnob \
    ndnde nenep ngndo nlnld nnnno nonor nrnbl nvnav nynya ococi ojoji omorm orori ososs \
    papan pipli plpol pspus ptpor quque rmroh rnrun roron rurus rwkin sasan scsrd sdsnd \
    sesme sgsag shhbs sisin skslk slslv smsmo snsna sosom sqsqi srsrp ssssw stsot susun \
    svswe swswa tatam tetel tgtgk ththa titir tktuk tltgl tntsn toton trtur tstso tttat \
    twtwi tytah uguig ukukr ururd uzuzb veven vivie vovol wawln wowol xhxho yiyid yoyor \
    zazha zhzho zuzul";

/// Returns the code of ISO 639-3 for a language tag (BCP 47): `eng` of `en` and `en-GB`. A language
/// without a code of two letters begins its tags with the code of ISO 639-3.
pub(crate) fn iso_639_3(tag: &str) -> Option<String> {
    let language = tag
        .split(['-', '_'])
        .next()
        .unwrap_or_default()
        .to_ascii_lowercase();
    let is_code = (2..=3).contains(&language.len()) && language.bytes().all(|byte| byte.is_ascii_lowercase());
    if !is_code {
        return None;
    }
    let longer = CODES
        .split_ascii_whitespace()
        .filter_map(|codes| codes.split_at_checked(2))
        .find(|(two, _)| *two == language);
    Some(longer.map_or(language, |(_, three)| three.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_have_codes_of_three_letters() {
        for (tag, code) in [
            ("en", Some("eng")),
            ("en-GB", Some("eng")),
            ("PT_br", Some("por")),
            ("zh-Hant-TW", Some("zho")),
            ("gsw", Some("gsw")),
            ("aa", Some("aar")),
            ("zu", Some("zul")),
            ("", None),
            ("x", None),
            ("english", None),
        ] {
            assert_eq!(iso_639_3(tag).as_deref(), code, "{tag}");
        }
    }

    #[test]
    fn codes_are_in_order_and_have_two_and_three_letters() {
        let codes: Vec<&str> = CODES.split_ascii_whitespace().collect();
        assert!(codes.is_sorted());
        assert!(codes.iter().all(|codes| codes.len() == 5));
        assert_eq!(codes.len(), 185);
    }
}
