package statetables

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/wire"
)

// template is a text with values in braces: {job_id}, {account}, {params.x}, {status_url}. A filter after a bar says
// how the value is written: {job_id|path} keeps its slashes, {job_id|number} stands in a JSON body as a number,
// {status_url|parent} is without its last segment and its query.
type template struct {
	parts []part
}

// part is a literal, or a value where name is set.
type part struct {
	literal string
	name    string
	filter  string
}

const (
	filterPath   = "path"
	filterNumber = "number"
	filterParent = "parent"
)

// values are what templates can name. status_url is among them only where the table polls one.
type values map[string]string

func valuesOf(target wire.Target, defaults map[string]string) values {
	named := values{"job_id": target.ProviderJobID, "account": target.Account}
	for name, value := range defaults {
		named["params."+name] = value
	}
	for name, value := range target.Params {
		named["params."+name] = value
	}
	return named
}

var hole = regexp.MustCompile(`\{([a-z0-9_.]+)(?:\|([a-z]+))?\}`)

func parseTemplate(text string) (template, error) {
	var parsed template
	rest := text
	for {
		found := hole.FindStringSubmatchIndex(rest)
		if found == nil {
			break
		}
		parsed.parts = append(parsed.parts, part{literal: rest[:found[0]]})
		value := part{name: rest[found[2]:found[3]]}
		if found[4] >= 0 {
			value.filter = rest[found[4]:found[5]]
		}
		parsed.parts = append(parsed.parts, value)
		rest = rest[found[1]:]
	}
	parsed.parts = append(parsed.parts, part{literal: rest})
	for _, p := range parsed.parts {
		if strings.ContainsAny(p.literal, "{}") {
			return template{}, fmt.Errorf("%q has a brace that names no value; values are {job_id}, {account}, {params.x} and {status_url}", text)
		}
	}
	return parsed, nil
}

// names are the values that the template asks for.
func (t template) names() []string {
	var names []string
	for _, p := range t.parts {
		if p.name != "" && !slices.Contains(names, p.name) {
			names = append(names, p.name)
		}
	}
	return names
}

func (t template) asksFor(name string) bool { return slices.Contains(t.names(), name) }

// plain writes the values as they are.
func (t template) plain(named values) string {
	var out strings.Builder
	for _, p := range t.parts {
		out.WriteString(p.literal)
		out.WriteString(named[p.name])
	}
	return out.String()
}

// hostShape is what may stand between the slashes of a URL once its values are in.
var hostShape = regexp.MustCompile(`^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9a-f:.]+\])(?::[0-9]{1,5})?$`)

// url writes each value as one segment of a path, and in the host only as what a host may be.
func (t template) url(named values) (string, error) {
	whole, err := t.segments(named)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(whole, "://")
	host, _, _ := strings.Cut(rest, "/")
	if !hostShape.MatchString(host) {
		return "", fmt.Errorf("%q is no host", host)
	}
	return whole, nil
}

// segments writes a URL or what stands behind one.
func (t template) segments(named values) (string, error) {
	var out strings.Builder
	for _, p := range t.parts {
		if p.name == "" {
			out.WriteString(p.literal)
			continue
		}
		text, err := escape(p, named[p.name], inHost(out.String()))
		if err != nil {
			return "", err
		}
		out.WriteString(text)
	}
	return out.String(), nil
}

func inHost(before string) bool {
	_, rest, ok := strings.Cut(before, "://")
	return ok && !strings.Contains(rest, "/")
}

func escape(p part, value string, host bool) (string, error) {
	if host {
		return value, nil
	}
	segments := strings.Split(value, "/")
	isPath := p.filter == filterPath
	for i, segment := range segments {
		if segment == "." || segment == ".." || segment == "" && (isPath || value == "") {
			return "", fmt.Errorf("%s %q cannot stand in a path: a segment is not empty and not only dots", p.name, value)
		}
		segments[i] = wire.EscapeSegment(segment)
	}
	if isPath {
		return strings.Join(segments, "/"), nil
	}
	return wire.EscapeSegment(value), nil
}

var visible = regexp.MustCompile(`^[\x20-\x7e]*$`)

// header writes the values into the value of a header.
func (t template) header(named values) (string, error) {
	text := t.plain(named)
	if !visible.MatchString(text) {
		return "", errors.New("a header holds visible ASCII only")
	}
	return text, nil
}

// afterStatusURL is what follows {status_url}, or false where the template does not begin with it.
func (t template) afterStatusURL() (template, bool) {
	if len(t.parts) < 2 || t.parts[0].literal != "" || t.parts[1].name != "status_url" {
		return template{}, false
	}
	return template{parts: t.parts[2:]}, true
}

// locate is the URL of the template, be it its own or made of the one that was handed out.
func (t template) locate(statusURL string, named values) (string, error) {
	if _, begins := t.afterStatusURL(); begins {
		return t.onStatusURL(statusURL, named)
	}
	return t.url(named)
}

// onStatusURL is the URL that the template makes of the one that was handed out: what follows {status_url} stands behind
// its path and before its query.
func (t template) onStatusURL(address string, named values) (string, error) {
	after, err := template{parts: t.parts[2:]}.segments(named)
	if err != nil {
		return "", err
	}
	if t.parts[1].filter != filterParent {
		return extend(address, after), nil
	}
	parent, err := parentOf(address)
	if err != nil {
		return "", err
	}
	return parent + after, nil
}

// parentOf is a URL without its last segment and its query.
func parentOf(address string) (string, error) {
	address, _, _ = strings.Cut(address, "?")
	_, path, _ := strings.Cut(address, "://")
	if !strings.Contains(strings.TrimSuffix(path, "/"), "/") {
		return "", &URLRejectedError{Rule: "has no path, of which the table would leave the last segment out"}
	}
	address = strings.TrimSuffix(address, "/")
	return address[:strings.LastIndexByte(address, '/')], nil
}
