//! Any question and any answer, in the form that the socket carries.
//!
//! This is the only list of questions: each line connects a variant of [`Question`] with its struct and its
//! answer.

use serde::{Deserialize, Serialize};

use super::*;

/// Defines [`Question`] and connects each of its structs with its answer.
macro_rules! questions {
    ($($variant:ident($question:ty) -> $answer:ty,)*) => {
        /// Any of the questions.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(tag = "ask", rename_all = "snake_case")]
        pub enum Question {
            $(
                #[doc = concat!("[`", stringify!($question), "`], answered by [`", stringify!($answer), "`].")]
                $variant($question),
            )*
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
        )*
    };
}

/// Any of the answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Body {
    /// Totals and state of the archive.
    Status(StatusBody),
    /// Whether the index is intact.
    Check(CheckBody),
    /// Statistics of the stages of loading.
    Stages(StagesBody),
    /// Inputs and how far each was loaded.
    Ledger(LedgerBody),
    /// Records and spans of bytes that could not be used.
    Quarantine(QuarantineBody),
    /// Everything known about one URL.
    Page(Box<PageBody>),
    /// Links to a URL, or links of a page.
    Links(LinksBody),
    /// One domain.
    Domain(DomainBody),
    /// A list of domains.
    Domains(DomainsBody),
    /// URIs ranked by in-links.
    Top(TopBody),
    /// Captures with the fields of CDXJ.
    Cdx(CdxBody),
    /// Where blocks of captures end.
    CdxBlocks(CdxBlocksBody),
    /// Results of a search.
    Search(SearchBody),
    /// Where the bytes of a record are.
    Record(RecordBody),
    /// One load.
    Job(JobBody),
    /// All loads since the archive was opened.
    Jobs(JobsBody),
    /// What was removed from the ledger.
    Forgotten(ForgottenBody),
}

/// Defines the conversions from each struct to [`Body`] and back.
macro_rules! bodies {
    ($($variant:ident($body:ty),)*) => {
        $(
            impl From<$body> for Body {
                fn from(body: $body) -> Body {
                    Body::$variant(body)
                }
            }

            impl TryFrom<Body> for $body {
                type Error = Body;

                fn try_from(body: Body) -> Result<$body, Body> {
                    match body {
                        Body::$variant(body) => Ok(body),
                        other => Err(other),
                    }
                }
            }
        )*
    };
}

impl From<PageBody> for Body {
    fn from(page: PageBody) -> Body {
        Body::Page(Box::new(page))
    }
}

impl TryFrom<Body> for PageBody {
    type Error = Body;

    fn try_from(body: Body) -> Result<PageBody, Body> {
        match body {
            Body::Page(page) => Ok(*page),
            other => Err(other),
        }
    }
}

/// A question whose kind is known only at run time gets an answer whose kind is known only at run time.
impl Ask for Question {
    type Answer = Body;
}

questions! {
    Status(Status) -> StatusBody,
    Check(Check) -> CheckBody,
    Stages(Stages) -> StagesBody,
    Ledger(Ledger) -> LedgerBody,
    Quarantine(Quarantine) -> QuarantineBody,
    Page(Page) -> PageBody,
    Inlinks(Inlinks) -> LinksBody,
    Outlinks(Outlinks) -> LinksBody,
    Domain(Domain) -> DomainBody,
    Domains(Domains) -> DomainsBody,
    Top(Top) -> TopBody,
    Cdx(CdxQuestion) -> CdxBody,
    CdxBlocks(CdxBlocksQuestion) -> CdxBlocksBody,
    Search(SearchQuestion) -> SearchBody,
    Record(Record) -> RecordBody,
    Load(LoadRequest) -> JobBody,
    Jobs(Jobs) -> JobsBody,
    Job(Job) -> JobBody,
    Cancel(Cancel) -> JobBody,
    Forget(Forget) -> ForgottenBody,
}

bodies! {
    Status(StatusBody),
    Check(CheckBody),
    Stages(StagesBody),
    Ledger(LedgerBody),
    Quarantine(QuarantineBody),
    Links(LinksBody),
    Domain(DomainBody),
    Domains(DomainsBody),
    Top(TopBody),
    Cdx(CdxBody),
    CdxBlocks(CdxBlocksBody),
    Search(SearchBody),
    Record(RecordBody),
    Job(JobBody),
    Jobs(JobsBody),
    Forgotten(ForgottenBody),
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
