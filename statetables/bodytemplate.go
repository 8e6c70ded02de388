package statetables

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
)

// bodyTemplate is a JSON body, written in the table as YAML, whose texts are templates.
type bodyTemplate struct {
	node  *yaml.Node
	texts map[*yaml.Node]template
}

func parseBodyTemplate(node *yaml.Node) (*bodyTemplate, error) {
	parsed := &bodyTemplate{node: node, texts: map[*yaml.Node]template{}}
	return parsed, parsed.parse(node)
}

func (b *bodyTemplate) parse(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" {
		text, err := parseTemplate(node.Value)
		b.texts[node] = text
		return err
	}
	for _, child := range node.Content {
		if err := b.parse(child); err != nil {
			return err
		}
	}
	return nil
}

// render writes the body with the values in; nil where there is no body.
func (b *bodyTemplate) render(named values) ([]byte, error) {
	if b == nil {
		return nil, nil
	}
	return jsonOf(b.node, func(node *yaml.Node) (string, error) { return b.text(node, named) })
}

var digits = regexp.MustCompile(`^(?:0|[1-9][0-9]*)$`)

func (b *bodyTemplate) text(node *yaml.Node, named values) (string, error) {
	parsed := b.texts[node]
	if len(parsed.parts) != 3 || parsed.parts[1].filter != filterNumber {
		return quote(parsed.plain(named))
	}
	value := named[parsed.parts[1].name]
	if !digits.MatchString(value) {
		return "", fmt.Errorf("%s %q is no whole number", parsed.parts[1].name, value)
	}
	return value, nil
}

// jsonOf writes a YAML value as JSON, in the order of its keys. Numbers keep their digits.
func jsonOf(node *yaml.Node, text func(*yaml.Node) (string, error)) ([]byte, error) {
	var out bytes.Buffer
	if err := writeJSON(&out, node, text); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func writeJSON(out *bytes.Buffer, node *yaml.Node, text func(*yaml.Node) (string, error)) error {
	switch node.Kind {
	case yaml.MappingNode:
		return writeObject(out, node, text)
	case yaml.SequenceNode:
		return writeList(out, node, text)
	case yaml.ScalarNode:
		return writeScalar(out, node, text)
	case yaml.DocumentNode, yaml.AliasNode:
		return errors.New("no value")
	default:
		return errors.New("no value")
	}
}

func writeObject(out *bytes.Buffer, node *yaml.Node, text func(*yaml.Node) (string, error)) error {
	out.WriteByte('{')
	for i := 0; i+1 < len(node.Content); i += 2 {
		if i > 0 {
			out.WriteByte(',')
		}
		key, err := quote(node.Content[i].Value)
		if err != nil {
			return err
		}
		out.WriteString(key + ":")
		if err := writeJSON(out, node.Content[i+1], text); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func writeList(out *bytes.Buffer, node *yaml.Node, text func(*yaml.Node) (string, error)) error {
	out.WriteByte('[')
	for i, child := range node.Content {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeJSON(out, child, text); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func writeScalar(out *bytes.Buffer, node *yaml.Node, text func(*yaml.Node) (string, error)) error {
	written := node.Value
	switch node.ShortTag() {
	case "!!null":
		written = "null"
	case "!!bool":
		written = strconv.FormatBool(node.Value == "true" || node.Value == "True" || node.Value == "TRUE")
	case "!!int", "!!float":
		if !jsontext.Value(written).IsValid() {
			return fmt.Errorf("%s is no JSON number", node.Value)
		}
	default:
		var err error
		if written, err = text(node); err != nil {
			return err
		}
	}
	out.WriteString(written)
	return nil
}

func quote(text string) (string, error) {
	quoted, err := jsontext.AppendQuote(nil, text)
	return string(quoted), err
}
