package statetables

import _ "embed"

//go:generate go test -run ^TestSchemaIsCurrent$ -update .

//go:embed schema.json
var schema string

// Schema returns the JSON Schema (draft 2020-12) of a table file, for editors. What it lets pass may still be wrong: whether
// expressions compile, sources exist and examples read as they should is for Load to find out.
func Schema() string { return schema }
