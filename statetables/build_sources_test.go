package statetables

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whoever adds a key says whether a fact of the provider stands there, and where its source is named.
func TestEveryKeyIsAFactOrNone(t *testing.T) {
	t.Parallel()
	all := slices.Concat(factSections, citedSections, ownSections)
	var keys []string
	document := reflect.TypeFor[Document]()
	for i := range document.NumField() {
		field := document.Field(i)
		keys = append(keys, field.Tag.Get("yaml"))
		cites := len(citing(citingItself(field.Type), "", "here")) > 0
		require.Equal(t, slices.Contains(slices.Concat(citedSections, partlyCited), field.Tag.Get("yaml")), cites, field.Name)
	}
	require.ElementsMatch(t, keys, all)
}

// citingItself is a value of a type whose every source is "here".
func citingItself(kind reflect.Type) reflect.Value {
	value := reflect.New(kind).Elem()
	switch kind.Kind() { //nolint:exhaustive // others hold no source
	case reflect.Pointer:
		value.Set(reflect.New(kind.Elem()))
		if kind.Elem().Kind() == reflect.Struct && kind.Elem().PkgPath() == reflect.TypeFor[Document]().PkgPath() {
			value.Elem().Set(citingItself(kind.Elem()))
		}
	case reflect.Slice:
		value.Set(reflect.Append(value, citingItself(kind.Elem())))
	case reflect.Map:
		value.Set(reflect.MakeMap(kind))
		value.SetMapIndex(reflect.ValueOf("key"), citingItself(kind.Elem()))
	case reflect.Struct:
		for key, field := range fieldsByKey(value) {
			if key == "source" {
				field.SetString("here")
				continue
			}
			field.Set(citingItself(field.Type()))
		}
	}
	return value
}

func TestSupportsNamesWhatWasReadAtASource(t *testing.T) {
	t.Parallel()
	doc := Document{
		Sources: map[string]SourceDoc{
			"docs":  {For: []string{"states", "request", "error.code"}},
			"codes": {},
			"other": {For: []string{"cancel"}},
		},
		HTTPCodes:  map[string]CodeDoc{"409": {Source: "codes"}, "202": {Source: "codes"}, "410": {Source: "docs"}},
		NotFound:   &NotFoundDoc{Grace: &GraceDoc{Source: "codes"}},
		Cancel:     &CancelDoc{Source: "other"},
		Schedule:   ScheduleDoc{Floor: &SecondsDoc{Source: "other"}},
		RateLimits: []SayingDoc{{Source: "codes"}, {Source: "codes"}},
	}
	require.Equal(t, []string{"request", "http_codes.410", "states", "error.code"}, doc.Supports("docs"))
	require.Equal(t, []string{"http_codes.202", "http_codes.409", "not_found.grace", "rate_limits"}, doc.Supports("codes"))
	require.Equal(t, []string{"cancel", "schedule.floor"}, doc.Supports("other"))
	require.Empty(t, doc.Supports("nowhere"))
}
