package statetables

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// sendAsForm is the word of a table whose provider takes submissions as forms.
const sendAsForm = "form"

// formOf writes a JSON object as application/x-www-form-urlencoded. A member of an object in it is written as outer[inner], an
// element of a list as outer[0]; what a form has no way to say is an error. The same object is always written alike.
func formOf(object []byte) ([]byte, error) {
	value, err := parseJSON(object)
	if err != nil {
		return nil, fmt.Errorf("body: not JSON: %w", err)
	}
	var fields []string
	if err := addFields(&fields, "", value); err != nil {
		return nil, err
	}
	return []byte(strings.Join(fields, "&")), nil
}

func addFields(to *[]string, name string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		return addMembers(to, name, value)
	case []any:
		return addElements(to, name, value)
	default:
		text, ok := textOf(value)
		if !ok {
			return fmt.Errorf("body: %q is null, which a form cannot say; leave it out, or write an empty text", name)
		}
		*to = append(*to, url.QueryEscape(name)+"="+url.QueryEscape(text))
		return nil
	}
}

func addMembers(to *[]string, name string, members map[string]any) error {
	if len(members) == 0 && name != "" {
		return emptyField(name)
	}
	for _, member := range slices.Sorted(maps.Keys(members)) {
		within := member
		if name != "" {
			within = name + "[" + member + "]"
		}
		if err := addFields(to, within, members[member]); err != nil {
			return err
		}
	}
	return nil
}

func addElements(to *[]string, name string, elements []any) error {
	if len(elements) == 0 {
		return emptyField(name)
	}
	for i, element := range elements {
		if err := addFields(to, name+"["+strconv.Itoa(i)+"]", element); err != nil {
			return err
		}
	}
	return nil
}

func emptyField(name string) error {
	return fmt.Errorf("body: %q holds nothing, which a form cannot say; leave it out", name)
}
