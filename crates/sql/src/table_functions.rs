//! Table functions: `search('query')`, `inlinks('url')`.

use std::fmt;
use std::sync::Arc;

use archive::question::{SearchHit, SearchQuestion, View};
use archive::{Archive, Cut};
use async_trait::async_trait;
use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray, TimestampMicrosecondArray,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::stream::RecordBatchReceiverStreamBuilder;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::SqlError;
use crate::functions::key_of;
use crate::keys;
use crate::live_tables::LiveTableProvider;
use crate::rows::micros;
use crate::tables::LiveTable;

/// Results per request to the search index.
const HITS_AT_ONCE: usize = 100;

/// `search('query')`: the matching pages, best first.
pub(crate) struct SearchFunction {
    pub(crate) cut: Arc<Cut>,
}

/// `inlinks('url')`: the links to a URL.
pub(crate) struct InlinksFunction {
    pub(crate) cut: Arc<Cut>,
}

impl fmt::Debug for SearchFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("search")
    }
}

impl fmt::Debug for InlinksFunction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("inlinks")
    }
}

impl TableFunctionImpl for SearchFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let query = only_text("search", "search('words of a query')", args.exprs())?;
        Ok(Arc::new(SearchTable {
            archive: self.cut.archive().clone(),
            query,
            schema: hit_schema(),
        }))
    }
}

impl TableFunctionImpl for InlinksFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let url = only_text("inlinks", "inlinks('http://example.org/')", args.exprs())?;
        let Some(key) = key_of(&url) else {
            return plan_err!("inlinks: {url:?} is not a URL");
        };
        if urlkey::host_of_key(&key).contains('*') {
            return plan_err!(
                "inlinks: {url:?} has a star, which is no pattern here; the table inlinks has all links: \
                 SELECT * FROM inlinks WHERE target_key LIKE 'org,example,%'"
            );
        }
        Ok(Arc::new(LiveTableProvider {
            table: LiveTable { view: View::Inlinks },
            cut: self.cut.clone(),
            range: keys::of_key(&key),
        }))
    }
}

fn only_text(function: &str, example: &str, args: &[Expr]) -> Result<String> {
    if let [Expr::Literal(value, _)] = args
        && let ScalarValue::Utf8(Some(text))
        | ScalarValue::Utf8View(Some(text))
        | ScalarValue::LargeUtf8(Some(text)) = value
    {
        return Ok(text.clone());
    }
    plan_err!("{function} takes one text argument, as in {example}")
}

fn hit_schema() -> SchemaRef {
    let text = |name| Field::new(name, DataType::Utf8View, false);
    let number = |name| Field::new(name, DataType::Int64, false);
    let count = |name| Field::new(name, DataType::Int64, true);
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        number("place"),
        Field::new("score", DataType::Float64, false),
        text("url_key"),
        text("url"),
        text("domain"),
        text("title"),
        Field::new("fetch_time", time, true),
        text("mime"),
        text("language"),
        text("collection"),
        text("snippet"),
        count("inlinks"),
        count("inlinks_external"),
    ]))
}

/// The results of a search.
struct SearchTable {
    archive: Archive,
    query: String,
    schema: SchemaRef,
}

impl fmt::Debug for SearchTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "search({:?})", self.query)
    }
}

#[async_trait]
impl TableProvider for SearchTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Temporary
    }

    async fn scan(
        &self,
        _state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let partition = SearchStream {
            archive: self.archive.clone(),
            query: self.query.clone(),
            schema: self.schema.clone(),
            hits_max: limit.unwrap_or(usize::MAX),
        };
        Ok(Arc::new(StreamingTableExec::try_new(
            self.schema.clone(),
            vec![Arc::new(partition)],
            projection,
            [],
            false,
            limit,
        )?))
    }
}

struct SearchStream {
    archive: Archive,
    query: String,
    schema: SchemaRef,
    hits_max: usize,
}

impl fmt::Debug for SearchStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "search({:?})", self.query)
    }
}

impl PartitionStream for SearchStream {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, _: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut stream = RecordBatchReceiverStreamBuilder::new(self.schema.clone(), 1);
        let (archive, query, schema) = (self.archive.clone(), self.query.clone(), self.schema.clone());
        let (hits_max, batches) = (self.hits_max, stream.tx());
        stream.spawn_blocking(move || {
            let mut question = SearchQuestion {
                query,
                ..SearchQuestion::default()
            };
            let mut place = 0;
            while place < hits_max {
                question.limit = HITS_AT_ONCE.min(hits_max - place);
                let answer = archive.ask(question.clone()).map_err(SqlError::Ask)?;
                let batch = batch_of(&schema, place, &answer.body.hits)?;
                place += answer.body.hits.len();
                if batches.blocking_send(Ok(batch)).is_err() || answer.body.next.is_none() {
                    break;
                }
                question.after = answer.body.next;
            }
            Ok(())
        });
        stream.build()
    }
}

fn batch_of(schema: &SchemaRef, before: usize, hits: &[SearchHit]) -> Result<RecordBatch> {
    let text = |of: fn(&SearchHit) -> &str| -> ArrayRef {
        Arc::new(hits.iter().map(|hit| Some(of(hit))).collect::<StringViewArray>())
    };
    let number = |of: fn(&SearchHit) -> Option<u64>| -> ArrayRef {
        let counts = hits.iter().map(|hit| of(hit).map(|count| count as i64));
        Arc::new(counts.collect::<Int64Array>())
    };
    let places: Int64Array = (before..)
        .take(hits.len())
        .map(|place| Some(place as i64 + 1))
        .collect();
    let scores: Float64Array = hits.iter().map(|hit| Some(hit.score)).collect();
    let times: TimestampMicrosecondArray = hits.iter().map(|hit| micros(&hit.fetch_time)).collect();
    let snippets: StringViewArray = hits.iter().map(|hit| Some(hit.snippet.text())).collect();
    Ok(RecordBatch::try_new(
        schema.clone(),
        vec![
            Arc::new(places),
            Arc::new(scores),
            text(|hit| &hit.url_key),
            text(|hit| &hit.url),
            text(|hit| &hit.domain),
            text(|hit| &hit.title),
            Arc::new(times.with_timezone("UTC")),
            text(|hit| &hit.mime),
            text(|hit| &hit.language),
            text(|hit| &hit.collection),
            Arc::new(snippets),
            number(|hit| hit.inlinks),
            number(|hit| hit.inlinks_external),
        ],
    )?)
}
