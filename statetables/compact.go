package statetables

import (
	"maps"
	"slices"
	"strings"
)

// compact writes a value of the body as JSON, for people.
func compact(value any) string {
	var out strings.Builder
	writeCompact(&out, value)
	return out.String()
}

// writeCompact writes a value of the body as JSON with sorted keys, no further than a text for people is looked at.
func writeCompact(out *strings.Builder, value any) {
	if out.Len() > maxScrubBytes {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		writeCompactObject(out, value)
	case []any:
		writeCompactList(out, value)
	case string:
		quoted, err := quote(value)
		if err == nil {
			out.WriteString(quoted)
		}
	case nil:
		out.WriteString("null")
	default:
		text, _ := textOf(value)
		out.WriteString(text)
	}
}

func writeCompactObject(out *strings.Builder, object map[string]any) {
	separator := "{"
	for _, key := range slices.Sorted(maps.Keys(object)) {
		out.WriteString(separator)
		writeCompact(out, key)
		out.WriteByte(':')
		writeCompact(out, object[key])
		separator = ","
	}
	if separator == "{" {
		out.WriteByte('{')
	}
	out.WriteByte('}')
}

func writeCompactList(out *strings.Builder, list []any) {
	out.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			out.WriteByte(',')
		}
		writeCompact(out, item)
	}
	out.WriteByte(']')
}
