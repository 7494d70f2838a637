//! `weft-sql serve` over Arrow Flight SQL, with the client of arrow-flight.

use std::sync::Arc;

use arrow_flight::FlightInfo;
use arrow_flight::sql::client::FlightSqlServiceClient;
use arrow_flight::sql::{
    CommandGetCrossReference, CommandGetDbSchemas, CommandGetExportedKeys, CommandGetImportedKeys,
    CommandGetPrimaryKeys, CommandGetTables, CommandGetXdbcTypeInfo, SqlInfo,
};
use futures_util::TryStreamExt as _;
use sql::arrow::array::{ArrayRef, AsArray as _, Date32Array, Int64Array, RecordBatch, StringArray};
use sql::arrow::datatypes::{DataType, Int64Type};
use tonic::transport::{Channel, Endpoint};

use crate::place::{NOT_IN_NULLS, Workspace};
use crate::server::Server;

async fn connect(server: &Server) -> FlightSqlServiceClient<Channel> {
    let address = format!("http://{}", server.address("flight"));
    let channel = Endpoint::new(address).unwrap().connect().await.unwrap();
    FlightSqlServiceClient::new(channel)
}

async fn fetch(client: &mut FlightSqlServiceClient<Channel>, info: FlightInfo) -> Vec<RecordBatch> {
    let described = info.clone().try_decode_schema().unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let rows = client.do_get(ticket).await.unwrap();
    let batches: Vec<RecordBatch> = rows.try_collect().await.unwrap();
    for batch in &batches {
        // Clients in other languages reject rows whose columns differ from the description.
        assert_eq!(batch.schema().fields(), described.fields());
    }
    batches
}

#[tokio::test]
async fn statements_prepared_or_not_and_what_there_is() {
    let place = Workspace::new();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let statement = "select count(*) as n, min(url) as first, min(fetch_time) as at from pages";
    let info = client.execute(statement.into(), None).await.unwrap();
    let batches = fetch(&mut client, info).await;
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 60);
    assert_eq!(
        batches[0]
            .schema()
            .metadata()
            .get("weft.epoch")
            .map(String::as_str),
        Some("1")
    );

    let mut prepared = client.prepare(statement.into(), None).await.unwrap();
    assert_eq!(prepared.dataset_schema().unwrap().field(0).name(), "n");
    let info = prepared.execute().await.unwrap();
    assert_eq!(fetch(&mut client, info).await[0].num_rows(), 1);
    prepared.close().await.unwrap();

    let info = client.get_catalogs().await.unwrap();
    let catalogs = fetch(&mut client, info).await;
    assert_eq!(catalogs[0].column(0).as_string::<i32>().value(0), "weft");
    let info = client
        .get_db_schemas(CommandGetDbSchemas::default())
        .await
        .unwrap();
    assert_eq!(fetch(&mut client, info).await[0].num_rows(), 1);
    let tables = CommandGetTables {
        include_schema: true,
        table_name_filter_pattern: Some("in%".into()),
        ..CommandGetTables::default()
    };
    let info = client.get_tables(tables).await.unwrap();
    let tables = fetch(&mut client, info).await;
    assert_eq!(
        tables[0]
            .column_by_name("table_name")
            .unwrap()
            .as_string::<i32>()
            .value(0),
        "inlinks"
    );
    assert_eq!(tables[0].num_rows(), 1);
    let info = client.get_table_types().await.unwrap();
    assert_eq!(fetch(&mut client, info).await[0].num_rows(), 1);
    let info = client
        .get_sql_info(vec![SqlInfo::FlightSqlServerReadOnly])
        .await
        .unwrap();
    assert_eq!(fetch(&mut client, info).await[0].num_rows(), 1);
}

/// Returns values for parameters: a column for each.
fn values(columns: Vec<ArrayRef>) -> RecordBatch {
    let named = columns
        .into_iter()
        .enumerate()
        .map(|(place, column)| (place.to_string(), column, true));
    RecordBatch::try_from_iter_with_nullable(named).unwrap()
}

#[tokio::test]
async fn prepared_statements_have_parameters() {
    let place = Workspace::new();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let statement = "select count(*) from captures where fetch_status = ? and url like ? \
                     and fetch_time > ? and '?' <> 'x' -- ?\n limit ?";
    let mut prepared = client.prepare(statement.into(), None).await.unwrap();
    let types: Vec<DataType> = prepared
        .parameter_schema()
        .unwrap()
        .fields()
        .iter()
        .map(|field| field.data_type().clone())
        .collect();
    assert!(
        matches!(
            types[..],
            [
                DataType::Int32,
                DataType::Utf8,
                DataType::Timestamp(..),
                DataType::Int64
            ]
        ),
        "{types:?}"
    );
    // The same statement serves for one execution after the other.
    for (status, count) in [(Some(200), 60), (Some(404), 0), (None, 0)] {
        let bound = values(vec![
            Arc::new(Int64Array::from(vec![status])),
            Arc::new(StringArray::from(vec!["http%"])),
            Arc::new(Date32Array::from(vec![0])),
            Arc::new(Int64Array::from(vec![10])),
        ]);
        prepared.set_parameters(bound).unwrap();
        let info = prepared.execute().await.unwrap();
        let batches = fetch(&mut client, info).await;
        let found = batches[0].column(0).as_primitive::<Int64Type>().value(0);
        assert_eq!(found, count, "{status:?}");
    }
    prepared.close().await.unwrap();
}

#[tokio::test]
async fn wrong_parameters_are_told() {
    let place = Workspace::new();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let number = |of: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(of)) };
    let text = |of: String| -> ArrayRef { Arc::new(StringArray::from(vec![of])) };
    for (columns, said) in [
        (
            vec![number(vec![1]), number(vec![1])],
            "parameter $2 must be of type",
        ),
        (vec![number(vec![1])], "2 parameters, and 1 value was given"),
        (vec![number(vec![1, 2]), number(vec![1, 2])], "one row of values"),
        (vec![number(vec![1]), text("x".repeat(3_000_000))], "are allowed"),
    ] {
        let statement = "select url from captures where fetch_status = ? and url = ?";
        let mut prepared = client.prepare(statement.into(), None).await.unwrap();
        prepared.set_parameters(values(columns)).unwrap();
        let error = prepared.execute().await.unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
    let error = client
        .execute("select ?".into(), None)
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("1 parameter, and 0 values were given"), "{error}");
}

#[tokio::test]
async fn there_are_types_and_no_keys() {
    let place = Workspace::new();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let table = || "captures".to_owned();
    let primary = CommandGetPrimaryKeys {
        table: table(),
        ..CommandGetPrimaryKeys::default()
    };
    let exported = CommandGetExportedKeys {
        table: table(),
        ..CommandGetExportedKeys::default()
    };
    let imported = CommandGetImportedKeys {
        table: table(),
        ..CommandGetImportedKeys::default()
    };
    let between = CommandGetCrossReference {
        pk_table: table(),
        fk_table: table(),
        ..CommandGetCrossReference::default()
    };
    let infos = [
        client.get_primary_keys(primary).await.unwrap(),
        client.get_exported_keys(exported).await.unwrap(),
        client.get_imported_keys(imported).await.unwrap(),
        client.get_cross_reference(between).await.unwrap(),
    ];
    for info in infos {
        let rows: usize = fetch(&mut client, info)
            .await
            .iter()
            .map(RecordBatch::num_rows)
            .sum();
        assert_eq!(rows, 0);
    }
    let info = client
        .get_xdbc_type_info(CommandGetXdbcTypeInfo::default())
        .await
        .unwrap();
    let types = fetch(&mut client, info).await;
    let names: Vec<&str> = types[0].column(0).as_string::<i32>().iter().flatten().collect();
    assert!(
        names.contains(&"VARCHAR") && names.contains(&"TIMESTAMP"),
        "{names:?}"
    );
}

#[tokio::test]
async fn files_on_the_disk_are_tables_too() {
    let place = Workspace::new();
    place.scan();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let tables = CommandGetTables {
        include_schema: true,
        table_name_filter_pattern: Some("file%".into()),
        ..CommandGetTables::default()
    };
    let info = client.get_tables(tables).await.unwrap();
    let tables = fetch(&mut client, info).await;
    let names = tables[0].column_by_name("table_name").unwrap().as_string::<i32>();
    let names: Vec<&str> = names.iter().flatten().collect();
    assert_eq!(names, ["file_names", "file_usage", "files"]);
    for (statement, rows) in [
        ("select * from files", 5),
        (
            "select name, modified, damaged from files where directory like '%inner'",
            2,
        ),
        ("select * from file_usage where format = 'pdf'", 1),
    ] {
        let info = client.execute(statement.into(), None).await.unwrap();
        let batches = fetch(&mut client, info).await;
        let found: usize = batches.iter().map(RecordBatch::num_rows).sum();
        assert_eq!(found, rows, "{statement}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told() {
    let place = Workspace::new();
    let server =
        Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0", "--time-limit", "1"]));
    let mut client = connect(&server).await;
    for (statement, said) in [
        ("selec 1", "column 1"),
        ("select titel from pages", "title"),
        ("create table x as select 1", "read-only"),
        ("copy pages to '/tmp/x'", "read-only"),
    ] {
        let error = client
            .execute(statement.into(), None)
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(said), "{statement}: {error}");
        let error = client.execute_update(statement.into(), None).await;
        assert!(error.is_err(), "{statement}");
    }
    let endless = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 10000000) b where a.value * b.value = 7";
    let info = client.execute(endless.into(), None).await.unwrap();
    let ticket = info.endpoint[0].ticket.clone().unwrap();
    let error = client.do_get(ticket).await.map(drop).unwrap_err().to_string();
    assert!(error.contains("1 s"), "{error}");
}

/// The same on every interface.
#[tokio::test]
async fn not_in_knows_null_over_flight() {
    let place = Workspace::new();
    let server = Server::start(place.command(&["serve", "--json", "--listen", "127.0.0.1:0"]));
    let mut client = connect(&server).await;
    let info = client.execute(NOT_IN_NULLS.into(), None).await.unwrap();
    let batches = fetch(&mut client, info).await;
    assert_eq!(batches[0].column(0).as_primitive::<Int64Type>().value(0), 0);
}
