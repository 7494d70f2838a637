//! `weft rights`: who may see what, by rules in the archive's `rights.toml`.

use std::io::Write;
use std::path::PathBuf;

use ::rights::{Access, Groups, RightsFile, Rule, Rules, TokensFile};
use serde::Serialize;

use crate::context::Context;
use crate::exit::{Outcome, WrongUse};
use crate::outcome::NotFound;
use crate::style::clean;

mod add;
mod import;
mod said;
mod test;

const EXAMPLES: &str = "\
Examples:
  weft rights add --deny --prefix 'com,example)/private' --except staff
  weft rights add --deny --domain example.org --until 2030-01-01 --note 'embargo'
  weft rights default deny                 closed, but for what rules allow
  weft rights ls
  weft rights test http://example.com/private/a --as staff
  weft rights import access.aclj           the rules of a pywb
  weft search 'annual report' --as readers what a reader finds

Rules stand in rights.toml in the archive's directory, which may also be edited by hand. A rule holds for the next
question; nothing is indexed again (docs/rights.md).";

/// Flags of `weft rights`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES, arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// The rules, numbered
    Ls(LsArgs),
    /// Add a rule
    Add(Box<add::Args>),
    /// Take a rule away
    Rm(RmArgs),
    /// Who sees a URL, and which rule says so
    Test(test::Args),
    /// What holds for captures that no rule matches
    Default(DefaultArgs),
    /// Take over the rules of a pywb (.aclj)
    Import(import::Args),
    /// Make a token that programs come with to weft serve, or withdraw one
    Token(TokenArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft rights ls\n  weft rights ls --json")]
struct LsArgs {}

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  weft rights ls\n  weft rights rm 3")]
struct RmArgs {
    /// Number of the rule, as weft rights ls shows it now
    number: usize,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft rights default deny        an archive that is closed\n  weft rights default allow"
)]
struct DefaultArgs {
    /// allow: public; deny: closed
    #[arg(value_parser = ["allow", "deny"])]
    access: String,
    /// Keep every sign of hidden captures from scores and their order too, or not
    #[arg(long, value_name = "YES|NO", value_parser = ["yes", "no"])]
    strict: Option<String>,
}

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  weft rights token reading-room --group staff --tokens /etc/weft/tokens.toml\n  \
                        weft rights token reading-room --withdraw --tokens /etc/weft/tokens.toml\n  \
                        curl -H 'Authorization: Bearer TOKEN' http://127.0.0.1:8080/api/v1/search?q=river"
)]
struct TokenArgs {
    /// A name for it, for people
    name: String,
    /// A group of who comes with it; repeat it for more
    #[arg(long = "group", value_name = "GROUP", required_unless_present = "withdraw")]
    groups: Vec<String>,
    /// The file of tokens, which weft serve --tokens reads
    #[arg(long, value_name = "FILE")]
    tokens: PathBuf,
    /// It opens nothing from this date on
    #[arg(long, value_name = "DATE")]
    until: Option<String>,
    /// Take it away; it opens nothing from now on
    #[arg(long, conflicts_with_all = ["groups", "until"])]
    withdraw: bool,
}

impl Args {
    /// Whether it asks the archive, and so may do it for somebody else than its owner.
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

/// The rules of the archive of the command line.
fn file(context: &Context) -> anyhow::Result<RightsFile> {
    let dir = &context.archive;
    if !dir.join("weft.json").is_file() {
        let dir = dir.display();
        return Err(NotFound(format!("{dir} is no archive (weft load creates one)")).into());
    }
    Ok(RightsFile::at(dir.join("rights.toml")))
}

fn change<T>(
    context: &Context,
    change: impl FnOnce(&mut Rules) -> Result<T, anyhow::Error>,
) -> anyhow::Result<T> {
    if context.read_only {
        return Err(WrongUse("--read-only changes nothing, and this command would".into()).into());
    }
    file(context)?.change(change)
}

#[derive(Serialize)]
struct Numbered<'r> {
    number: usize,
    #[serde(flatten)]
    rule: &'r Rule,
}

#[derive(Serialize)]
struct Listed<'r> {
    default: Access,
    strict: bool,
    rules: Vec<Numbered<'r>>,
}

fn ls(context: &mut Context) -> anyhow::Result<Outcome> {
    let rules = file(context)?.rules()?;
    let has_rules = rules.is_some();
    let rules = rules.unwrap_or_default();
    if context.json {
        let numbered = (1..)
            .zip(&rules.rules)
            .map(|(number, rule)| Numbered { number, rule });
        context.out.json(&Listed {
            default: rules.default,
            strict: rules.strict,
            rules: numbered.collect(),
        })?;
        return Ok(Outcome::Done);
    }
    match (has_rules, rules.default) {
        (false, _) => writeln!(context.out, "no rules: everybody sees everything")?,
        (true, Access::Allow) => writeln!(context.out, "public, but for what a rule denies")?,
        (true, Access::Deny) => writeln!(context.out, "closed, but for what a rule allows and none denies")?,
    }
    if rules.strict {
        writeln!(
            context.out,
            "strict: scores and their order tell nothing of what is hidden"
        )?;
    }
    for (number, rule) in (1..).zip(&rules.rules) {
        writeln!(context.out, "{number:>4}  {}", clean(&said::rule(rule)))?;
    }
    Ok(Outcome::Done)
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

fn print_rule(what: &str, number: usize, rule: &Rule, context: &mut Context) -> anyhow::Result<Outcome> {
    match context.json {
        true => context.out.json(&Numbered { number, rule })?,
        false => writeln!(context.out, "{what} rule {number}: {}", clean(&said::rule(rule)))?,
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
        file.withdraw(&args.name)?;
        writeln!(context.out, "token {} opens nothing any more", clean(&args.name))?;
        return Ok(Outcome::Done);
    }
    let groups: Groups = args.groups.into_iter().collect();
    let token = file.make(&args.name, groups, args.until)?;
    match context.json {
        true => context
            .out
            .json(&serde_json::json!({ "name": args.name, "token": token }))?,
        false => {
            writeln!(context.out, "{token}")?;
            eprintln!(
                "weft: this is shown once; {} keeps its hash alone",
                file.path().display()
            );
        }
    }
    Ok(Outcome::Done)
}
