//! Any question and any answer, in the form that the socket carries.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::*;

/// The list of all questions. Each entry gives a kind of answer: its variant of [`Body`] and its
/// type. Then it lists the questions with this kind of answer, each with its variant of
/// [`Question`], its struct, and the function of `crate::ask` that answers it. `$with` is a macro
/// that receives the whole list.
macro_rules! questions {
    ($with:ident) => {
        $with! {
            /// Totals and state of the archive.
            Status(StatusBody) { Status(Status) => status::status }
            /// Whether the index is intact.
            Check(CheckBody) { Check(Check) => check::check }
            /// Statistics of the stages of loading.
            Stages(StagesBody) { Stages(Stages) => jobs::stages }
            /// Inputs and how far each was loaded.
            Ledger(LedgerBody) { Ledger(Ledger) => ledger::ledger }
            /// Records and byte ranges that could not be used.
            Quarantine(QuarantineBody) { Quarantine(Quarantine) => ledger::quarantine }
            /// Everything known about one URL.
            Page(PageBody) { Page(Page) => page::page }
            /// A part of the text of one version.
            PageText(PageTextBody) { PageText(PageText) => page_text::page_text }
            /// What crawlers added to a page.
            Attachments(AttachmentsBody) { Attachments(Attachments) => attachments::attachments }
            /// On which days a URL was captured.
            Calendar(CalendarBody) { Calendar(Calendar) => calendar::calendar }
            /// The changes of a page between two versions.
            Diff(DiffBody) { Diff(Diff) => diff::diff }
            /// Links to a URL, or links of a page.
            Links(LinksBody) { Inlinks(Inlinks) => links::inlinks, Outlinks(Outlinks) => links::outlinks }
            /// Counts of links to a URL.
            LinkCounts(LinkCountsBody) { LinkCounts(LinkCounts) => link_counts::link_counts }
            /// One domain.
            Domain(DomainBody) { Domain(Domain) => domain::domain }
            /// A list of domains.
            Domains(DomainsBody) { Domains(Domains) => domains::domains }
            /// URIs ranked by in-links.
            Top(TopBody) { Top(Top) => domain::top }
            /// Links between hosts or domains.
            GraphPart(GraphPartBody) { GraphPart(GraphPart) => graph::part }
            /// Captures with the fields of CDXJ.
            Cdx(CdxBody) { Cdx(CdxQuestion) => cdx::cdx }
            /// Where blocks of captures end.
            CdxBlocks(CdxBlocksBody) { CdxBlocks(CdxBlocksQuestion) => cdx::blocks }
            /// Whether the client sees everything.
            Sight(AccessScopeBody) { Sight(AccessScope) => sight::sight }
            /// The access rules.
            Rights(RightsBody) { Rights(Rights) => rights::rights }
            /// Which access rules apply to a URL.
            RightsTest(RightsTestBody) { RightsTest(RightsTest) => rights::test }
            /// Results of a search.
            Search(SearchBody) { Search(SearchQuestion) => search::search }
            /// Images that pages show.
            Images(ImagesBody) { Images(ImagesQuestion) => images::images }
            /// A small copy of an image.
            Thumbnail(ThumbnailBody) { Thumbnail(ThumbnailQuestion) => thumbnail::thumbnail }
            /// Matches with the words around them.
            Concordance(ConcordanceBody) { Concordance(ConcordanceQuestion) => concordance::concordance }
            /// Completions of the text typed so far.
            Suggestions(SuggestionsBody) { Suggest(Suggest) => suggest::suggest }
            /// How often queries match in each year.
            Trends(TrendsBody) { Trends(Trends) => trends::trends }
            /// Which pages match a query in each month.
            Events(EventsBody) { Events(Events) => events::events }
            /// Statistics of a crawl.
            Report(ReportBody) { Report(Report) => report::report }
            /// Where the bytes of a record are.
            Record(RecordBody) { Record(Record) => record::record }
            /// The collections.
            Collections(CollectionsBody) { Collections(Collections) => collections::collections }
            /// The pages that packages list.
            ListedPages(ListedPagesBody) { ListedPages(ListedPages) => listed_pages::pages }
            /// One load.
            Job(JobBody) {
                Load(LoadRequest) => jobs::load,
                Job(Job) => jobs::job,
                Cancel(Cancel) => jobs::cancel,
            }
            /// All loads since the archive was opened.
            Jobs(JobsBody) { Jobs(Jobs) => jobs::jobs }
            /// The result of adding or deleting posted lines.
            Posted(PostedBody) { Post(Post) => post::post, Unpost(Unpost) => post::unpost }
            /// What was removed from the ledger.
            Forgotten(ForgottenBody) { Forget(Forget) => forget::forget }
            /// The captures taken down, or that would be.
            TakenDown(TakenDownBody) { TakeDown(TakeDown) => takedown::take_down }
            /// The register of takedowns.
            Takedowns(TakedownsBody) { Takedowns(Takedowns) => takedown::takedowns }
            /// A takedown that has ended.
            Undone(UndoneBody) { UndoTakedown(UndoTakedown) => takedown::undo }
            /// The result of a purge.
            Purged(PurgedBody) { Purge(Purge) => takedown::purge }
            /// The rules of all takedowns, for checks.
            TakedownRules(TakedownRulesBody) { TakedownRules(TakedownRulesQuestion) => takedown::rules }
            /// The result of a rebuild.
            Rebuilt(RebuiltBody) { Rebuild(Rebuild) => rebuild::rebuild }
            /// Progress of a rebuild.
            Rebuilding(RebuildingBody) { Rebuilding(Rebuilding) => rebuild::progress }
        }
    };
}
pub(crate) use questions;

/// Defines [`Question`] and [`Body`], and connects each question with its answer.
macro_rules! define {
    ($(
        $(#[$doc:meta])*
        $kind:ident($answer:ty) { $($variant:ident($question:ty) => $module:ident::$function:ident),+ $(,)? }
    )*) => {
        /// Any of the questions.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(tag = "ask", rename_all = "snake_case")]
        pub enum Question {
            $($(
                #[doc = concat!("[`", stringify!($question), "`], answered by [`", stringify!($answer), "`].")]
                $variant($question),
            )+)*
        }

        /// Any of the answers.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "answer", rename_all = "snake_case")]
        pub enum Body {
            $($(#[$doc])* $kind($answer),)*
        }

        $(
            impl From<$answer> for Body {
                fn from(answer: $answer) -> Body {
                    Body::$kind(answer)
                }
            }

            impl TryFrom<Body> for $answer {
                type Error = Body;

                fn try_from(body: Body) -> Result<$answer, Body> {
                    match body {
                        Body::$kind(answer) => Ok(answer),
                        other => Err(other),
                    }
                }
            }

            $(
                impl From<$question> for Question {
                    fn from(question: $question) -> Question {
                        Question::$variant(question)
                    }
                }

                impl Ask for $question {
                    type Answer = $answer;
                }
            )+
        )*
    };
}

questions!(define);

/// A question whose kind is known only at run time gets an answer whose kind is known only at run
/// time.
impl Ask for Question {
    type Answer = Body;
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(question: impl Into<Question>, expected: serde_json::Value) {
        let question: Question = question.into();
        let json = serde_json::to_value(&question).unwrap();
        assert_eq!(json, expected);
        let back: Question = serde_json::from_value(json).unwrap();
        assert_eq!(serde_json::to_value(&back).unwrap(), expected);
    }

    #[test]
    fn questions_are_flat_and_have_a_name() {
        check(Status {}, json!({ "ask": "status" }));
        check(Job { id: 7 }, json!({ "ask": "job", "id": 7 }));
        check(
            Inlinks {
                url: "a.org".into(),
                after: None,
                limit: 10,
                at: None,
                ever: false,
                ..Inlinks::default()
            },
            json!({ "ask": "inlinks", "url": "a.org", "after": null, "limit": 10 }),
        );
        let bare: Question = serde_json::from_value(json!({ "ask": "top", "limit": 1 })).unwrap();
        assert!(matches!(
            bare,
            Question::Top(Top {
                domain: None,
                after: None,
                limit: 1
            })
        ));
    }

    #[test]
    fn answers_are_flat_and_lead_back_to_their_question_alone() {
        let answer = Answer {
            epoch: 3,
            body: TopBody::default(),
        };
        let any = answer.clone().any();
        let json = serde_json::to_value(&any).unwrap();
        assert_eq!(
            json,
            json!({ "epoch": 3, "answer": "top", "rows": [], "next": null })
        );
        let back: Answer = serde_json::from_value(json).unwrap();
        assert_eq!(back.clone().to::<Top>().unwrap(), answer);
        assert_eq!(back.to::<Status>().unwrap_err().code, crate::ErrorCode::Internal);
    }
}
