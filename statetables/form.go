package statetables

import (
	"bytes"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/jobwait/jobwait/wire"
)

// sendAsForm is the word of a table whose provider takes submissions as forms.
const sendAsForm = "form"

// maxFormBytes bounds a form: the name of a field repeats the names that it lies within, so a small body could become a large one.
const maxFormBytes = 4 * wire.MaxSubmitBodyBytes

// formOf writes a JSON object as application/x-www-form-urlencoded. A member of an object in it is written as outer[inner], an
// element of a list as outer[0]; what a form has no way to say is an error. The same object is always written alike.
func formOf(object []byte) ([]byte, error) {
	value, err := parseJSON(object)
	if err != nil {
		return nil, fmt.Errorf("body: not JSON: %w", err)
	}
	var out form
	err = out.add("", value)
	return out.Bytes(), err
}

type form struct{ bytes.Buffer }

func (f *form) add(name string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		return f.members(name, value)
	case []any:
		return f.elements(name, value)
	default:
		return f.field(name, value)
	}
}

func (f *form) field(name string, value any) error {
	text, ok := textOf(value)
	if !ok {
		return fmt.Errorf("body: %q is null, which a form cannot say; leave it out, or write an empty text", cut(name, maxRawStateBytes))
	}
	if f.Len() > 0 {
		f.WriteByte('&')
	}
	f.WriteString(url.QueryEscape(name) + "=" + url.QueryEscape(text))
	if f.Len() > maxFormBytes {
		return fmt.Errorf("body: it is more than %d bytes as a form", maxFormBytes)
	}
	return nil
}

func (f *form) members(name string, members map[string]any) error {
	if len(members) == 0 && name != "" {
		return emptyField(name)
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		within := member
		if name != "" {
			within = name + "[" + member + "]"
		}
		if err := f.add(within, members[member]); err != nil {
			return err
		}
	}
	return nil
}

func (f *form) elements(name string, elements []any) error {
	if len(elements) == 0 {
		return emptyField(name)
	}
	for i, element := range elements {
		if err := f.add(name+"["+strconv.Itoa(i)+"]", element); err != nil {
			return err
		}
	}
	return nil
}

func emptyField(name string) error {
	return fmt.Errorf("body: %q holds nothing, which a form cannot say; leave it out", cut(name, maxRawStateBytes))
}
