//! Arrow Flight SQL, for ADBC and JDBC clients.
//!
//! The server keeps no state between requests: a ticket is the statement itself, the handle of a
//! prepared statement is the statement with the values of its parameters. So a statement is first
//! planned for its columns, and executed when it is fetched, at the epoch current then. The schema's
//! metadata names that epoch (`weft.epoch`).

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, CommandGetCatalogs, CommandGetCrossReference, CommandGetDbSchemas,
    CommandGetExportedKeys, CommandGetImportedKeys, CommandGetPrimaryKeys, CommandGetSqlInfo,
    CommandGetTableTypes, CommandGetTables, CommandGetXdbcTypeInfo, CommandPreparedStatementQuery,
    CommandPreparedStatementUpdate, CommandStatementQuery, CommandStatementUpdate,
    DoPutPreparedStatementResult, ProstMessageExt, SqlInfo, TicketStatementQuery,
};
use arrow_flight::{Action, FlightDescriptor, FlightEndpoint, FlightInfo, IpcMessage, SchemaAsIpc, Ticket};
use futures_util::stream::{self, Stream};
use futures_util::{StreamExt as _, TryStreamExt as _};
use prost::Message as _;
use prost::bytes::Bytes;
use sql::SqlError;
use sql::arrow::array::RecordBatch;
use sql::arrow::datatypes::{Schema, SchemaRef};
use sql::arrow::error::ArrowError;
use sql::arrow::ipc::writer::IpcWriteOptions;
use tonic::transport::server::TcpIncoming;
use tonic::{Request, Response, Status};

use super::about::about;
use super::keys::{FOREIGN_KEYS, PRIMARY_KEYS};
use super::prepared::{PreparedStatement, bound_values};
use super::statements::{StatementOptions, StatementRunner};
use super::types::types;
use crate::output_format::{plain_texts, with_plain_texts};

/// Answer to statements that are sent as changes.
const UPDATES: &str = "statements are read-only: run one as a query, with one row of values";

/// Names of the levels above tables, as shown by clients.
const CATALOG: &str = "weft";
const SCHEMA: &str = "public";
const TABLE_TYPE: &str = "TABLE";

/// Metadata key of the epoch in a schema.
const EPOCH: &str = "weft.epoch";

type Rows = Pin<Box<dyn Stream<Item = Result<arrow_flight::FlightData, Status>> + Send>>;

/// Serves requests until `stopped` completes.
pub(super) async fn serve(
    runner: StatementRunner,
    incoming: TcpIncoming,
    stopped: impl Future<Output = ()>,
) -> Result<(), tonic::transport::Error> {
    tonic::transport::Server::builder()
        .add_service(FlightServiceServer::new(Service { runner }))
        .serve_with_incoming_shutdown(incoming.with_nodelay(Some(true)), stopped)
        .await
}

struct Service {
    runner: StatementRunner,
}

fn status_of(error: &SqlError) -> Status {
    let message = error.to_string();
    match error {
        error if error.is_of_statement() => Status::invalid_argument(message),
        SqlError::Epoch { .. } => Status::failed_precondition(message),
        SqlError::TimeLimit { .. } => Status::deadline_exceeded(message),
        SqlError::Open(_) => Status::unavailable(message),
        error if error.is_in_use() => Status::unavailable(message),
        _ => {
            tracing::error!(%error, "a statement failed");
            Status::internal(message)
        }
    }
}

fn arrow_status(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}

/// Returns the description of a result, with the command itself as the ticket to fetch.
fn flight_info(
    schema: &Schema,
    command: &impl ProstMessageExt,
    request: Request<FlightDescriptor>,
) -> Result<Response<FlightInfo>, Status> {
    let ticket = Ticket::new(command.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(arrow_status)?
        .with_descriptor(request.into_inner())
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket));
    Ok(Response::new(info))
}

fn response_of(
    schema: SchemaRef,
    rows: impl Stream<Item = Result<RecordBatch, FlightError>> + Send + 'static,
) -> Response<Rows> {
    let encoded = FlightDataEncoderBuilder::new().with_schema(schema).build(rows);
    Response::new(encoded.map_err(Status::from).boxed())
}

fn response_of_batch(batch: Result<RecordBatch, FlightError>) -> Result<Response<Rows>, Status> {
    let batch = batch?;
    Ok(response_of(batch.schema(), stream::iter([Ok(batch)])))
}

/// Returns the encoded form of a schema.
fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    let options = IpcWriteOptions::default();
    let IpcMessage(schema) = SchemaAsIpc::new(schema, &options)
        .try_into()
        .map_err(arrow_status)?;
    Ok(schema)
}

fn options_of(values: Option<RecordBatch>) -> StatementOptions {
    StatementOptions {
        parameters: values,
        ..StatementOptions::default()
    }
}

impl Service {
    async fn columns_of(&self, statement: &str, values: Option<RecordBatch>) -> Result<SchemaRef, Status> {
        let schema = self.runner.columns_of(statement, options_of(values)).await;
        Ok(with_plain_texts(&schema.map_err(|error| status_of(&error))?))
    }

    async fn rows(&self, prepared: PreparedStatement) -> Result<Response<Rows>, Status> {
        let running = self
            .runner
            .begin(&prepared.statement, options_of(prepared.values))
            .await
            .map_err(|error| status_of(&error))?;
        let metadata = HashMap::from([(EPOCH.to_owned(), running.epoch.to_string())]);
        let schema = Schema::clone(&with_plain_texts(&running.schema)).with_metadata(metadata);
        let rows = stream::unfold(running, async |mut running| {
            let batch = match running.next().await? {
                Ok(batch) => plain_texts(&batch).map_err(FlightError::Arrow),
                Err(error) => Err(FlightError::Tonic(Box::new(status_of(&error)))),
            };
            Some((batch, running))
        });
        Ok(response_of(Arc::new(schema), rows))
    }
}

#[tonic::async_trait]
impl FlightSqlService for Service {
    type FlightService = Service;

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let schema = self.columns_of(&query.query, None).await?;
        let ticket = TicketStatementQuery {
            statement_handle: query.query.into(),
        };
        flight_info(&schema, &ticket, request)
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        self.rows(PreparedStatement::decode(&ticket.statement_handle)?)
            .await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let shape = self
            .runner
            .shape_of(&query.query)
            .await
            .map_err(|error| status_of(&error))?;
        let prepared = PreparedStatement {
            statement: query.query,
            values: None,
        };
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: prepared.encode()?.into(),
            dataset_schema: schema_bytes(&with_plain_texts(&shape.columns))?,
            parameter_schema: schema_bytes(&with_plain_texts(&Arc::new(shape.parameters)))?,
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        _: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let prepared = PreparedStatement::decode(&query.prepared_statement_handle)?;
        let schema = self.columns_of(&prepared.statement, prepared.values).await?;
        flight_info(&schema, &query, request)
    }

    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let mut prepared = PreparedStatement::decode(&query.prepared_statement_handle)?;
        prepared.values = bound_values(request.into_inner()).await?;
        Ok(DoPutPreparedStatementResult {
            prepared_statement_handle: Some(prepared.encode()?.into()),
        })
    }

    async fn do_put_statement_update(
        &self,
        _: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::invalid_argument(UPDATES))
    }

    async fn do_put_prepared_statement_update(
        &self,
        _: CommandPreparedStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::invalid_argument(UPDATES))
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        self.rows(PreparedStatement::decode(&query.prepared_statement_handle)?)
            .await
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&query.into_builder().schema(), &query, request)
    }

    async fn do_get_catalogs(
        &self,
        query: CommandGetCatalogs,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut catalogs = query.into_builder();
        catalogs.append(CATALOG);
        response_of_batch(catalogs.build())
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&query.clone().into_builder().schema(), &query, request)
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut schemas = query.into_builder();
        schemas.append(CATALOG, SCHEMA);
        response_of_batch(schemas.build())
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&query.clone().into_builder().schema(), &query, request)
    }

    async fn do_get_tables(
        &self,
        query: CommandGetTables,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let tables = self
            .runner
            .database
            .tables()
            .await
            .map_err(|error| status_of(&error))?;
        let mut found = query.into_builder();
        for (table, schema) in tables {
            let schema = with_plain_texts(&schema);
            found
                .append(CATALOG, SCHEMA, table.name, TABLE_TYPE, &schema)
                .map_err(Status::from)?;
        }
        response_of_batch(found.build())
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&query.into_builder().schema(), &query, request)
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut types = query.into_builder();
        types.append(TABLE_TYPE);
        response_of_batch(types.build())
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&about()?.schema(), &query, request)
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        response_of_batch(query.into_builder(about()?).build())
    }

    async fn get_flight_info_primary_keys(
        &self,
        query: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&PRIMARY_KEYS, &query, request)
    }

    async fn do_get_primary_keys(
        &self,
        _: CommandGetPrimaryKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(response_of(PRIMARY_KEYS.clone(), stream::empty()))
    }

    async fn get_flight_info_exported_keys(
        &self,
        query: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&FOREIGN_KEYS, &query, request)
    }

    async fn do_get_exported_keys(
        &self,
        _: CommandGetExportedKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(response_of(FOREIGN_KEYS.clone(), stream::empty()))
    }

    async fn get_flight_info_imported_keys(
        &self,
        query: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&FOREIGN_KEYS, &query, request)
    }

    async fn do_get_imported_keys(
        &self,
        _: CommandGetImportedKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(response_of(FOREIGN_KEYS.clone(), stream::empty()))
    }

    async fn get_flight_info_cross_reference(
        &self,
        query: CommandGetCrossReference,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&FOREIGN_KEYS, &query, request)
    }

    async fn do_get_cross_reference(
        &self,
        _: CommandGetCrossReference,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(response_of(FOREIGN_KEYS.clone(), stream::empty()))
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        flight_info(&types()?.schema(), &query, request)
    }

    async fn do_get_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        response_of_batch(query.into_builder(types()?).build())
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
