package statetables

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func documentation(tb testing.TB) string {
	tb.Helper()
	text, err := os.ReadFile("../docs/state-tables.md")
	require.NoError(tb, err)
	return string(text)
}

// The table that the documentation begins with is one that loads.
func TestDocumentedTableLoads(t *testing.T) {
	t.Parallel()
	blocks := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(documentation(t), -1)
	require.NotEmpty(t, blocks)
	for _, block := range blocks {
		_, err := Load(Source{Name: "docs", FS: fstest.MapFS{"state-tables.yaml": {Data: []byte(block[1])}}})
		require.NoError(t, err)
	}
}

// Every key, category, unit and format of the format is in its reference.
func TestReferenceIsComplete(t *testing.T) {
	t.Parallel()
	text := documentation(t)
	words := append(keysOf(reflect.TypeFor[Document]()), append(units, ownWords()...)...)
	for _, word := range words {
		require.Regexp(t, "[`{, ]"+regexp.QuoteMeta(word)+"[`}:, ]", text, "docs/state-tables.md does not explain %s", word)
	}
}

func ownWords() []string {
	var words []string
	for _, category := range categories {
		words = append(words, string(category))
	}
	words = append(words, "header", "body", "query", "client_id", "unknown", "submission", "end")
	return append(words, "terminal", none, "ignored", "optional", "path", "number", "parent")
}

// keysOf are the keys of the format below a type.
func keysOf(of reflect.Type) []string {
	for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice || of.Kind() == reflect.Map {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct || !strings.HasPrefix(of.String(), "statetables.") {
		return nil
	}
	var keys []string
	for i := range of.NumField() {
		keys = append(keys, of.Field(i).Tag.Get("yaml"))
		keys = append(keys, keysOf(of.Field(i).Type)...)
	}
	return keys
}
