package statetables

import (
	"regexp"
	"strconv"
	"strings"
)

// walk is a plain way into the body, or a header.
type walk struct {
	header string
	steps  []step
	// asText turns a number or a boolean into text, as string() does.
	asText bool
}

// step goes to an element where index is not negative, else to a key.
type step struct {
	key   string
	index int
}

var (
	walkShape = regexp.MustCompile(`^body((?:\.[A-Za-z_][A-Za-z0-9_]*|\["[^"\\]+"\]|\[[0-9]{1,6}\])+)$`)
	stepShape = regexp.MustCompile(`\.([A-Za-z_][A-Za-z0-9_]*)|\["([^"\\]+)"\]|\[([0-9]+)\]`)
	headShape = regexp.MustCompile(`^header\["([^"\\A-Z]+)"\]$`)
)

// parseWalk is nil where text is more than a plain way.
func parseWalk(text string) *walk {
	inner, asText := strings.CutPrefix(text, "string(")
	if asText {
		inner = strings.TrimSuffix(inner, ")")
	}
	if head := headShape.FindStringSubmatch(inner); head != nil {
		return &walk{header: head[1], asText: asText}
	}
	way := walkShape.FindStringSubmatch(inner)
	if way == nil {
		return nil
	}
	parsed := &walk{asText: asText}
	for _, part := range stepShape.FindAllStringSubmatch(way[1], -1) {
		index := -1
		if part[3] != "" {
			index, _ = strconv.Atoi(part[3]) // at most six digits
		}
		parsed.steps = append(parsed.steps, step{key: part[1] + part[2], index: index})
	}
	return parsed
}

func (w *walk) eval(in *input) (any, error) {
	if w.header != "" {
		return w.evalHeader(in)
	}
	var at any = in.body
	for _, step := range w.steps {
		next, err := step.from(at)
		if err != nil {
			return nil, err
		}
		at = next
	}
	if text, ok := textOf(at); w.asText && ok {
		return text, nil
	}
	if w.asText {
		return nil, errType
	}
	return at, nil
}

func (w *walk) evalHeader(in *input) (any, error) {
	values := headerValues(in.header, w.header)
	if len(values) == 0 {
		return nil, errAbsent
	}
	return strings.Join(values, ", "), nil
}

func (s step) from(at any) (any, error) {
	switch at := at.(type) {
	case map[string]any:
		next, ok := at[s.key]
		if !ok || s.index >= 0 {
			return nil, errAbsent
		}
		return next, nil
	case []any:
		if s.index < 0 || s.index >= len(at) {
			return nil, errAbsent
		}
		return at[s.index], nil
	case nil:
		return nil, errAbsent
	default:
		return nil, errType
	}
}

// textOf writes a text, a number or a boolean; nothing else has a text.
func textOf(value any) (string, bool) {
	switch value := value.(type) {
	case string:
		return value, true
	case number:
		return string(value), true
	case bool:
		return strconv.FormatBool(value), true
	default:
		return "", false
	}
}
