//! `weft rights`: manages access rules in the archive's `rights.toml`.

use std::io::Write;
use std::path::PathBuf;

use ::access::{Access, AccessRule, AccessRules, AccessRulesFile, TokenHolder, TokensFault, TokensFile};
use archive::question::{NumberedRule, Rights, RightsBody};
use serde::Serialize;

use crate::ask;
use crate::context::Context;
use crate::flag_values::{whole_date, whole_from};
use crate::outcome::NotFound;
use crate::outcome::{Outcome, WrongUse};
use crate::style::clean;

mod add;
mod import;
mod rule_text;
mod test;

const EXAMPLES: &str = "\
Examples:
  weft rights add --deny --prefix 'com,example)/private' --except staff
  weft rights add --deny --domain example.org --until 2030-01-01 --note 'embargo'
  weft rights default deny                 closed, except for what rules allow
  weft rights ls
  weft rights test http://example.com/private/a --as staff
  weft rights import access.aclj           import the rules of pywb
  weft search 'annual report' --as readers search as a reader

Rules are in rights.toml in the archive's directory, which can also be edited by hand. A changed
rule applies to the next query; nothing is reindexed (docs/rights.md).";

/// Flags of `weft rights`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// List the rules, numbered, with what each matches now
    #[command(alias = "list")]
    Ls(LsArgs),
    /// Add a rule
    Add(Box<add::Args>),
    /// Remove a rule
    Rm(RmArgs),
    /// Show who sees a URL, and by which rule
    Test(test::Args),
    /// Set the access for captures that no rule matches
    Default(DefaultArgs),
    /// Import the access rules of pywb (.aclj)
    Import(import::Args),
    /// Create a token that authenticates programs to weft serve, or revoke one
    Token(TokenArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft rights ls\n  weft rights ls --json")]
struct LsArgs {}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft rights ls\n  weft rights rm 3")]
struct RmArgs {
    /// Number of the rule, as weft rights ls currently shows it
    #[arg(value_parser = whole_from(1_usize, 3))]
    number: usize,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft rights default deny        a closed archive\n  weft rights default allow"
)]
struct DefaultArgs {
    /// allow: public; deny: closed
    #[arg(value_parser = ["allow", "deny"])]
    access: String,
    /// Whether hidden captures must not influence even scores and their order
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"])]
    strict: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft rights token reading-room --group staff --tokens /etc/weft/tokens.toml\n  \
                        weft rights token operator --admin --tokens /etc/weft/tokens.toml\n  \
                        weft rights token reading-room --withdraw --tokens /etc/weft/tokens.toml\n  \
                        weft rights token operator --admin --replace --tokens /etc/weft/tokens.toml\n  \
                        curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8080/api/v1/search?q=river"
)]
#[command(group = clap::ArgGroup::new("bearer").required(true).multiple(true).args(["groups", "admin", "withdraw"]))]
struct TokenArgs {
    /// Name of the token, for people
    name: String,
    /// Group of the token's bearer; repeat for more
    #[arg(long = "group", value_name = "GROUP")]
    groups: Vec<String>,
    /// Let the bearer administer the archive: loads, files, store, rules, takedowns, metrics. Pages
    /// apply the rules of the group admin and of the groups given
    #[arg(long)]
    admin: bool,
    /// File of tokens, read by weft serve --tokens
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// The token expires on this date
    #[arg(long, value_name = "DATE", value_parser = whole_date())]
    until: Option<String>,
    /// Revoke the token now
    #[arg(long, conflicts_with_all = ["groups", "until", "admin", "replace"])]
    withdraw: bool,
    /// Replace the token of this name, with its rights: it is refused from now on
    #[arg(long)]
    replace: bool,
}

impl Args {
    /// Returns whether the command queries the archive, so that `--as` can apply to it.
    pub(crate) fn asks_as(&self) -> bool {
        matches!(self.command, Command::Test(_))
    }
}

/// Runs `weft rights`.
pub(crate) fn run(args: Args, context: &mut Context) -> anyhow::Result<Outcome> {
    match args.command {
        Command::Ls(LsArgs {}) => ls(context),
        Command::Add(args) => add::run(*args, context),
        Command::Rm(RmArgs { number }) => rm(number, context),
        Command::Test(args) => test::run(&args, context),
        Command::Default(args) => default(&args, context),
        Command::Import(args) => import::run(&args, context),
        Command::Token(args) => token(args, context),
    }
}

/// Returns the rules file of the archive on the command line.
fn file(context: &Context) -> anyhow::Result<AccessRulesFile> {
    let dir = &context.archive;
    if !dir.join("weft.json").is_file() {
        let dir = dir.display();
        return Err(NotFound(format!("{dir} is not an archive (weft load creates one)")).into());
    }
    Ok(AccessRulesFile::at(dir.join("rights.toml")))
}

fn change<T>(
    context: &Context,
    change: impl FnOnce(&mut AccessRules) -> Result<T, anyhow::Error>,
) -> anyhow::Result<T> {
    if context.read_only {
        return Err(WrongUse("this command writes to the archive: run it without --read-only".into()).into());
    }
    file(context)?.change(change)
}

#[derive(Serialize)]
struct NumberedRow<'r> {
    number: usize,
    #[serde(flatten)]
    rule: &'r AccessRule,
}

#[derive(Serialize)]
struct RulesReport {
    default: Access,
    strict: bool,
    rules: Vec<NumberedRule>,
}

fn ls(context: &mut Context) -> anyhow::Result<Outcome> {
    // A mistake in the file is reported before the archive is opened.
    let body = match file(context)?.rules()? {
        Some(rules) => rules_with_counts(context).unwrap_or_else(|error| {
            eprintln!("note: the captures that rules match could not be counted: {error:#}");
            rules_without_counts(&rules)
        }),
        None => RightsBody::default(),
    };
    if context.json {
        context.out.json(&RulesReport {
            default: body.default,
            strict: body.strict,
            rules: body.rules,
        })?;
        return Ok(Outcome::Done);
    }
    match (body.has_rules, body.default) {
        (false, _) => writeln!(context.out, "no rules: everybody sees everything")?,
        (true, Access::Allow) => writeln!(context.out, "public, except for what a rule denies")?,
        (true, Access::Deny) => writeln!(
            context.out,
            "closed, except for what a rule allows and none \
                                                       denies"
        )?,
    }
    if body.strict {
        writeln!(
            context.out,
            "strict: scores and their order reveal nothing about hidden captures"
        )?;
    }
    for numbered in &body.rules {
        let number = numbered.number;
        writeln!(
            context.out,
            "{number:>4}  {}",
            clean(&rule_text::rule_text(&numbered.rule))
        )?;
        if let Some(matches) = rule_text::matches_text(numbered) {
            writeln!(context.out, "      {}", clean(&matches))?;
        }
    }
    Ok(Outcome::Done)
}

/// Returns the rules with what each matches.
fn rules_with_counts(context: &Context) -> anyhow::Result<RightsBody> {
    Ok(ask::open(context)?.ask(Rights { counts: true })?.body)
}

/// Returns the rules from the file alone, for an archive that does not answer.
fn rules_without_counts(rules: &AccessRules) -> RightsBody {
    let now_ms = system::time_ms();
    let numbered = (1..).zip(&rules.rules).map(|(number, rule)| NumberedRule {
        number,
        in_force: rule.clause(now_ms).is_ok_and(|clause| clause.is_some()),
        rule: rule.clone(),
        matches: None,
    });
    RightsBody {
        has_rules: true,
        default: rules.default,
        strict: rules.strict,
        rules: numbered.collect(),
    }
}

fn rm(number: usize, context: &mut Context) -> anyhow::Result<Outcome> {
    let removed = change(context, |rules| {
        let index = number.checked_sub(1).filter(|index| *index < rules.rules.len());
        let count = rules.rules.len();
        let index =
            index.ok_or_else(|| NotFound(format!("no rule {number}: there are {count} (weft rights ls)")))?;
        Ok(rules.rules.remove(index))
    })?;
    print_rule("removed", number, &removed, context)
}

fn print_rule(
    what: &str,
    number: usize,
    rule: &AccessRule,
    context: &mut Context,
) -> anyhow::Result<Outcome> {
    if context.json {
        context.out.json(&NumberedRow { number, rule })?
    } else {
        writeln!(
            context.out,
            "{what} rule {number}: {}",
            clean(&rule_text::rule_text(rule))
        )?
    }
    Ok(Outcome::Done)
}

fn default(args: &DefaultArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    change(context, |rules| {
        rules.default = match args.access.as_str() {
            "deny" => Access::Deny,
            _ => Access::Allow,
        };
        if let Some(strict) = &args.strict {
            rules.strict = strict == "yes";
        }
        Ok(())
    })?;
    ls(context)
}

fn token(args: TokenArgs, context: &mut Context) -> anyhow::Result<Outcome> {
    let file = TokensFile::at(args.tokens);
    if args.withdraw {
        file.revoke(&args.name)?;
        writeln!(context.out, "token {} is withdrawn", clean(&args.name))?;
        return Ok(Outcome::Done);
    }
    let bearer = TokenHolder {
        groups: args.groups.into_iter().collect(),
        is_admin: args.admin,
    };
    let token = if args.replace {
        file.reissue_for(&args.name, bearer, args.until)?
    } else {
        let issued = file.issue_for(&args.name, bearer, args.until);
        issued.map_err(|error| match error.why {
            TokensFault::Exists(_) => {
                anyhow::anyhow!("{error}: take another name, or replace it (--replace)")
            }
            _ => error.into(),
        })?
    };
    if context.json {
        context
            .out
            .json(&serde_json::json!({ "name": args.name, "token": token }))?
    } else {
        writeln!(context.out, "{token}")?;
        eprintln!(
            "weft: the token is shown only once; {} keeps only its hash",
            file.path().display()
        );
    }
    Ok(Outcome::Done)
}
