package statetables

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// decoder turns YAML nodes into a document. It is stricter than the YAML library and remembers the line of everything
// it reads, so that later checks can name it.
type decoder struct {
	lines  map[string]int
	faults []fault
}

// fault is one thing that is wrong with a table.
type fault struct {
	line int
	text string
}

func (d *decoder) refuse(node *yaml.Node, format string, args ...any) {
	d.faults = append(d.faults, fault{line: max(node.Line, 1), text: fmt.Sprintf(format, args...)})
}

// line is where path, or what it stands in, begins.
func (d *decoder) line(path string) int {
	for path != "" {
		if line, ok := d.lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 1
}

// decode reads node into into. Every kind of value that a document holds has its case; a new kind panics in every test.
func (d *decoder) decode(node *yaml.Node, path string, into reflect.Value) {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		d.refuse(node, "anchors and aliases are not read; write the value out")
		return
	}
	if _, ok := into.Interface().(*yaml.Node); ok {
		d.decodeRaw(node, into)
		return
	}
	if one, ok := into.Addr().Interface().(*AuthDocs); ok && node.Kind == yaml.MappingNode {
		*one = make(AuthDocs, 1)
		d.decode(node, path+"[0]", into.Index(0))
		return
	}
	switch into.Kind() { //nolint:exhaustive // a document holds no other kinds
	case reflect.Pointer:
		into.Set(reflect.New(into.Type().Elem()))
		d.decode(node, path, into.Elem())
	case reflect.Struct:
		d.decodeStruct(node, path, into)
	case reflect.Map:
		d.decodeMap(node, path, into)
	case reflect.Slice:
		d.decodeList(node, path, into)
	default:
		d.decodeScalar(node, path, into)
	}
}

// decodeRaw keeps the node, of which only repeated keys and aliases are refused.
func (d *decoder) decodeRaw(node *yaml.Node, into reflect.Value) {
	d.refuseRepeats(node)
	into.Set(reflect.ValueOf(node))
}

func (d *decoder) refuseRepeats(node *yaml.Node) {
	if node.Kind == yaml.AliasNode || node.Anchor != "" {
		d.refuse(node, "anchors and aliases are not read; write the value out")
		return
	}
	if node.Kind == yaml.MappingNode {
		d.keys(node)
	}
	for _, child := range node.Content {
		d.refuseRepeats(child)
	}
}

// keys are the keys of a mapping with their values; a key given twice is refused.
func (d *decoder) keys(node *yaml.Node) map[string]*yaml.Node {
	values := make(map[string]*yaml.Node, len(node.Content)/2)
	first := make(map[string]int, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key := node.Content[i]
		if line, ok := first[key.Value]; ok {
			d.refuse(key, "key %q is given twice, first in line %d; keep one", key.Value, line)
			continue
		}
		first[key.Value] = key.Line
		values[key.Value] = node.Content[i+1]
	}
	return values
}

func (d *decoder) decodeStruct(node *yaml.Node, path string, into reflect.Value) {
	if ref, ok := into.Addr().Interface().(*RefDoc); ok && node.Kind == yaml.ScalarNode {
		d.decodeScalar(node, path, reflect.ValueOf(&ref.Read).Elem())
		return
	}
	if node.Kind != yaml.MappingNode {
		d.refuse(node, "%s: %s where keys and values belong; known keys: %s", cmp.Or(path, "the table"), kindOf(node), known(into.Type()))
		return
	}
	fields := fieldsByKey(into)
	values := d.keys(node)
	for i := 0; i < len(node.Content); i += 2 {
		key := node.Content[i]
		d.lines[join(path, key.Value)] = key.Line
		if _, ok := fields[key.Value]; !ok {
			d.refuse(key, "unknown key %q; known here: %s", key.Value, known(into.Type()))
			delete(values, key.Value)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		d.decode(values[key], join(path, key), fields[key])
	}
}

func (d *decoder) decodeMap(node *yaml.Node, path string, into reflect.Value) {
	if node.Kind != yaml.MappingNode {
		d.refuse(node, "%s: %s where keys and values belong", path, kindOf(node))
		return
	}
	into.Set(reflect.MakeMap(into.Type()))
	values := d.keys(node)
	for i := 0; i < len(node.Content); i += 2 {
		d.lines[join(path, node.Content[i].Value)] = node.Content[i].Line
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := reflect.New(into.Type().Elem()).Elem()
		d.decode(values[key], join(path, key), value)
		into.SetMapIndex(reflect.ValueOf(key), value)
	}
}

func (d *decoder) decodeList(node *yaml.Node, path string, into reflect.Value) {
	if node.Kind != yaml.SequenceNode {
		d.refuse(node, "%s: %s where a list belongs; write [a, b]", path, kindOf(node))
		return
	}
	list := reflect.MakeSlice(into.Type(), len(node.Content), len(node.Content))
	for i, child := range node.Content {
		item := fmt.Sprintf("%s[%d]", path, i)
		d.lines[item] = child.Line
		d.decode(child, item, list.Index(i))
	}
	into.Set(list)
}

func (d *decoder) decodeScalar(node *yaml.Node, path string, into reflect.Value) {
	if node.Kind != yaml.ScalarNode {
		d.refuse(node, "%s: %s where a single value belongs", path, kindOf(node))
		return
	}
	if node.ShortTag() == "!!null" {
		d.refuse(node, "%s: nothing is written; leave the key out, or write '' for the empty text", path)
		return
	}
	switch into.Kind() { //nolint:exhaustive // a document holds no other kinds
	case reflect.String:
		into.SetString(node.Value)
	case reflect.Int:
		d.decodeInt(node, path, into)
	case reflect.Bool:
		d.decodeBool(node, path, into)
	default:
		panic("statetables: no way to read " + into.Type().String())
	}
}

func (d *decoder) decodeInt(node *yaml.Node, path string, into reflect.Value) {
	number, err := strconv.Atoi(node.Value)
	if err != nil || node.ShortTag() != "!!int" {
		d.refuse(node, "%s: %q where a whole number belongs", path, node.Value)
		return
	}
	into.SetInt(int64(number))
}

func (d *decoder) decodeBool(node *yaml.Node, path string, into reflect.Value) {
	if node.Value != "true" && node.Value != "false" {
		d.refuse(node, "%s: %q where true or false belongs", path, node.Value)
		return
	}
	into.SetBool(node.Value == "true")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func fieldsByKey(value reflect.Value) map[string]reflect.Value {
	fields := make(map[string]reflect.Value, value.NumField())
	for i := range value.NumField() {
		fields[value.Type().Field(i).Tag.Get("yaml")] = value.Field(i)
	}
	return fields
}

func known(of reflect.Type) string {
	keys := make([]string, of.NumField())
	for i := range keys {
		keys[i] = of.Field(i).Tag.Get("yaml")
	}
	return strings.Join(keys, ", ")
}

func kindOf(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "keys and values"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", node.Value)
	case yaml.DocumentNode, yaml.AliasNode:
		return "a document"
	default:
		return "nothing"
	}
}
