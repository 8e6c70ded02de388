// Package schema holds statetables/schema.json against the tables of the repository, right and wrong, with a validator that the
// library itself does not need.
package schema

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

const tables = "../../statetables/"

// The compiler holds the schema against the metaschema of draft 2020-12.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile(tables + "schema.json")
	require.NoError(t, err)
	require.Equal(t, 2020, schema.DraftVersion)
	return schema
}

func TestRightTablesAreValid(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	for _, folder := range []string{"tables", "demo", "testdata/right", "testdata/shapes"} {
		files := within(t, folder)
		require.NotEmpty(t, files, folder)
		for name, table := range files {
			require.NoError(t, schema.Validate(table), "%s/%s", folder, name)
		}
	}
}

// beyond are wrong tables of which a schema cannot know that they are wrong, and what it would have to understand.
var beyond = map[string]string{
	"anchors":                            "YAML",
	"key_given_twice":                    "YAML",
	"two_documents":                      "YAML",
	"expression_does_not_compile":        "expressions",
	"expression_of_another_type":         "expressions",
	"http_code_condition_of_no_truth":    "expressions",
	"unknown_variable":                   "expressions",
	"cancel_body_and_condition":          "expressions",
	"private_network_not_allowed":        "addresses",
	"body_template":                      "templates",
	"filter_of_another_value":            "templates",
	"job_id_in_host":                     "templates",
	"status_url_not_handed_out":          "templates",
	"query_always_empty":                 "templates",
	"pattern_invalid":                    "RE2",
	"cancel_of_unlisted_state":           "other places",
	"source_not_listed":                  "other places",
	"source_for_nothing":                 "other places",
	"fact_without_source":                "other places",
	"state_in_two_categories":            "other places",
	"state_twice_when_case_is_ignored":   "other places",
	"example_job_impossible":             "examples",
	"example_of_an_impossible_job":       "examples",
	"callback_reads_otherwise":           "examples",
	"example_reads_otherwise":            "examples",
	"examples_that_cannot_be_run":        "examples",
	"submit_example_reads_otherwise":     "examples",
	"submit_key_as_credential":           "other places",
	"submit_accepts_a_refusal":           "other places",
	"submit_param_unknown":               "other places",
	"submit_key_in_the_body_of_a_get":    "other places",
	"submit_form_by_get":                 "other places",
	"submit_elsewhere":                   "other places",
	"submit_code_twice":                  "other places",
	"submit_with_a_status_url":           "other places",
	"submit_done_not_accepted":           "other places",
	"idempotency_none_that_is_forgotten": "other places",
}

// A wrong table is refused where a schema can know it. A new one is either refused, or is listed above with the reason.
func TestWrongTablesAreRefused(t *testing.T) {
	t.Parallel()
	schema := compiled(t)
	files := within(t, "testdata/wrong")
	for name, table := range files {
		why, passes := beyond[name]
		if passes {
			require.NoError(t, schema.Validate(table), "%s is refused, although it is listed as one for which a schema would have to understand %s", name, why)
			continue
		}
		require.Error(t, schema.Validate(table), "%s is a wrong table, and the schema lets it pass; if it cannot know, list it under beyond", name)
	}
	for _, name := range slices.Sorted(maps.Keys(beyond)) {
		require.FileExists(t, tables+"testdata/wrong/"+name+".yaml")
	}
}

// Where an editor draws its line: the place of the fault is in the complaint.
func TestComplaintsNameThePlace(t *testing.T) {
	t.Parallel()
	err := compiled(t).Validate(map[string]any{"hints": []any{map[string]any{"read": "body.wait"}}})
	require.ErrorContains(t, err, "at '/hints/0': missing property 'unit'")
	err = compiled(t).Validate(map[string]any{"reqest": map[string]any{}})
	require.ErrorContains(t, err, "additional properties 'reqest' not allowed")
}

// within are the tables of a folder by name. Those that are no YAML are null.
func within(t *testing.T, folder string) map[string]any {
	t.Helper()
	paths, err := filepath.Glob(tables + folder + "/*.yaml")
	require.NoError(t, err)
	found := map[string]any{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		var root yaml.Node
		if err := yaml.Unmarshal(data, &root); err == nil {
			found[strings.TrimSuffix(filepath.Base(path), ".yaml")] = value(&root)
		}
	}
	return found
}

// value is YAML as an editor takes it: a day is a text, numbers keep their digits.
func value(node *yaml.Node) any {
	switch {
	case node.Kind == yaml.DocumentNode:
		return value(node.Content[0])
	case node.Kind == yaml.AliasNode:
		return value(node.Alias)
	case node.Kind == yaml.MappingNode:
		object := map[string]any{}
		for i := 0; i+1 < len(node.Content); i += 2 {
			object[node.Content[i].Value] = value(node.Content[i+1])
		}
		return object
	case node.Kind == yaml.SequenceNode:
		list := []any{}
		for _, child := range node.Content {
			list = append(list, value(child))
		}
		return list
	case node.ShortTag() == "!!null":
		return nil
	case node.ShortTag() == "!!bool":
		return node.Value == "true"
	case node.ShortTag() == "!!int" || node.ShortTag() == "!!float":
		return json.Number(node.Value)
	default:
		return node.Value
	}
}
