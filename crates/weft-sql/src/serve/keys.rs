//! The schemas of keys of tables. The tables have none, so clients that ask for them get no rows.

use std::sync::{Arc, LazyLock};

use sql::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

/// The columns of primary keys, as the protocol has them.
pub(super) static PRIMARY_KEYS: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema(vec![
        text("catalog_name", true),
        text("db_schema_name", true),
        text("table_name", false),
        text("column_name", false),
        text("key_name", true),
        Field::new("key_sequence", DataType::Int32, false),
    ])
});

/// The columns of foreign keys: those of a table, those that refer to it, those between two tables.
pub(super) static FOREIGN_KEYS: LazyLock<SchemaRef> = LazyLock::new(|| {
    schema(vec![
        text("pk_catalog_name", true),
        text("pk_db_schema_name", true),
        text("pk_table_name", false),
        text("pk_column_name", false),
        text("fk_catalog_name", true),
        text("fk_db_schema_name", true),
        text("fk_table_name", false),
        text("fk_column_name", false),
        Field::new("key_sequence", DataType::Int32, false),
        text("fk_key_name", true),
        text("pk_key_name", true),
        Field::new("update_rule", DataType::UInt8, false),
        Field::new("delete_rule", DataType::UInt8, false),
    ])
});

fn schema(fields: Vec<Field>) -> SchemaRef {
    Arc::new(Schema::new(fields))
}

fn text(name: &str, is_nullable: bool) -> Field {
    Field::new(name, DataType::Utf8, is_nullable)
}
