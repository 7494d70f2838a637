//! SQL in the OpenAPI document. Another program answers it ([`crate::sql`]) and defines these
//! parameters (docs/sql.md).

use serde_json::{Value, json};

/// Adds the paths of SQL.
pub(super) fn add_to(paths: &mut Value) {
    let errors = json!({
        "description": "Why the request failed; 404 if the program weft-sql is not installed",
        "content": { "application/json": { "schema": {
            "type": "object",
            "required": ["error"],
            "properties": { "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": { "type": "string" },
                    "message": { "type": "string" },
                    "line": { "type": "integer", "minimum": 1, "description": "Line of the error in the statement" },
                    "column": { "type": "integer", "minimum": 1 },
                },
            } },
        } } },
    });
    let rows = json!({
        "description": "The rows; the header weft-epoch gives their epoch",
        "headers": { "weft-epoch": { "schema": { "type": "integer", "minimum": 0 } } },
        "content": {
            "application/json": { "schema": {
                "type": "object",
                "required": ["epoch", "rows"],
                "properties": {
                    "epoch": { "type": "integer", "minimum": 0 },
                    "rows": { "type": "array", "items": { "type": "object" } },
                },
            } },
            "application/x-ndjson": { "schema": {} },
            "text/csv": { "schema": { "type": "string" } },
            "application/vnd.apache.parquet": { "schema": { "type": "string" } },
            "application/vnd.apache.arrow.stream": { "schema": { "type": "string" } },
        },
    });
    let statement = json!({
        "name": "q", "in": "query", "description": "The statement, at most 1 MiB",
        "schema": { "type": "string", "minLength": 1 },
    });
    let form = json!({
        "name": "format", "in": "query", "description": "Format of the rows",
        "schema": { "type": "string", "enum": ["json", "jsonl", "csv", "parquet", "arrow"], "default": "json" },
    });
    let epoch = json!({
        "name": "at_epoch", "in": "query", "description": "Show the archive as it was at this epoch",
        "schema": { "type": "integer", "minimum": 0 },
    });
    let required = |mut parameter: Value| {
        parameter["required"] = json!(true);
        parameter
    };
    paths["/api/v1/sql"] = json!({
        "get": {
            "summary": "Run an SQL statement and return its rows",
            "operationId": "get_sql",
            "parameters": [required(statement.clone()), form, epoch],
            "responses": { "200": rows, "default": errors },
        },
        "post": {
            "summary": "The same, with the statement as the body or as the form field q",
            "operationId": "post_sql",
            "parameters": [statement, form, epoch],
            "requestBody": {
                "required": true,
                "content": {
                    "application/sql": { "schema": { "type": "string" } },
                    "text/plain": { "schema": { "type": "string" } },
                    "application/x-www-form-urlencoded": { "schema": {
                        "type": "object", "required": ["q"], "properties": { "q": { "type": "string" } },
                    } },
                },
            },
            "responses": { "200": rows, "default": errors },
        },
    });
    paths["/api/v1/sql/tables"] = json!({
        "get": {
            "summary": "The tables that SQL statements can query, with their columns",
            "operationId": "get_sql_tables",
            "responses": {
                "200": {
                    "description": "The tables",
                    "content": { "application/json": { "schema": {
                        "type": "object",
                        "required": ["tables"],
                        "properties": { "tables": { "type": "array", "items": {
                            "type": "object",
                            "required": ["name", "row", "columns"],
                            "properties": {
                                "name": { "type": "string" },
                                "row": { "type": "string", "description": "What a row represents" },
                                "columns": { "type": "array", "items": {
                                    "type": "object",
                                    "required": ["name", "type", "nullable"],
                                    "properties": {
                                        "name": { "type": "string" },
                                        "type": { "type": "string" },
                                        "nullable": { "type": "boolean" },
                                    },
                                } },
                            },
                        } } },
                    } } },
                },
                "default": errors,
            },
        },
    });
}
