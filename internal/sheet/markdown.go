package sheet

import (
	_ "embed"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/jobwait/jobwait/statetables"
)

// head and tail stand around the tables in docs/providers.md. The tail is kept by hand.
var (
	//go:embed head.md
	head string
	//go:embed tail.md
	tail string
)

// WriteProvidersPage writes docs/providers.md: what the built-in tables say, and which providers have none and why.
func WriteProvidersPage(to io.Writer, files []statetables.File) error {
	return write(to, head, overview(files), sections(files), tail)
}

// WritePage writes what tables say as one page of Markdown.
func WritePage(to io.Writer, files []statetables.File) error {
	return write(to, "# State tables\n\n", overview(files), sections(files))
}

func write(to io.Writer, parts ...string) error {
	_, err := io.WriteString(to, strings.TrimRight(strings.Join(parts, ""), "\n")+"\n")
	return err
}

// overview is a row for each table.
func overview(files []statetables.File) string {
	var out strings.Builder
	out.WriteString("| provider | what | polled at | states | cancel | hints | submit again | callback | kept |\n")
	out.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for _, file := range files {
		d := describer{&file.Table}
		cells := []string{
			fmt.Sprintf("[`%s`](#%s)", d.Provider, d.Provider), cell(d.Title), d.polledAt(), d.stateCount(), d.cancelWord(),
			d.hintWord(), d.repeatWord(), d.callbackWord(), d.keptWord(),
		}
		out.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	return out.String()
}

// cell is a text that does not end its cell.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func (d describer) polledAt() string {
	switch {
	case strings.HasPrefix(d.Request.URL, handedOut):
		return "the submission's URL"
	case d.NextURL != "":
		return "a URL of its own, then the next one"
	default:
		return "a URL of its own"
	}
}

// stateCount is how many words the table lists, and whether HTTP codes speak of the job as well.
func (d describer) stateCount() string {
	listed := len(d.Rules)
	for _, states := range d.States {
		listed += len(states)
	}
	if len(d.HTTPCodes) == 0 {
		return fmt.Sprint(listed)
	}
	return fmt.Sprintf("%d + %s", listed, count(len(d.HTTPCodes), "code", "codes"))
}

func (d describer) cancelWord() string {
	switch {
	case d.Cancel == nil:
		return "–"
	case d.Cancel.Destructive:
		return d.Cancel.Method + ", destructive"
	default:
		return d.Cancel.Method
	}
}

func (d describer) hintWord() string {
	if len(d.Hints) == 0 {
		return "–"
	}
	return "yes"
}

func (d describer) repeatWord() string {
	if d.Submit == nil {
		return "?"
	}
	switch d.Submit.Idempotency {
	case "none":
		return "no"
	case "unknown":
		return "?"
	case "client_id":
		return "own id"
	default:
		return "key in the " + d.Submit.Idempotency
	}
}

func (d describer) keptWord() string {
	if d.Retention == nil {
		return "?"
	}
	return span(d.Retention.Seconds)
}

// sections is a section for each table.
func sections(files []statetables.File) string {
	var out strings.Builder
	for _, file := range files {
		out.WriteString(Of(file).Markdown())
	}
	return out.String()
}

// Markdown is a sheet as a section.
func (s Sheet) Markdown() string {
	var out strings.Builder
	fmt.Fprintf(&out, "\n### %s\n\n%s.\n\n", s.Provider, strings.TrimSuffix(s.Title, "."))
	for _, subject := range s.Subjects {
		fmt.Fprintf(&out, "- **%s**", subject.Name)
		if len(subject.Says) > 0 {
			out.WriteString(": " + marked(strings.Join(subject.Says, "; ")))
		}
		out.WriteString("\n")
		for _, row := range subject.Rows {
			fmt.Fprintf(&out, "  - %s: %s\n", marked(row.Name), linked(marked(row.Text)))
		}
	}
	return out.String()
}

var spans = regexp.MustCompile(fence + "([^" + fence + "]*)" + fence)

// marked shows spans of code as Markdown does. What is not code is plain text.
func marked(text string) string {
	var out strings.Builder
	rest := text
	for {
		at := spans.FindStringSubmatchIndex(rest)
		if at == nil {
			return out.String() + plain(rest)
		}
		out.WriteString(plain(rest[:at[0]]) + codeSpan(rest[at[2]:at[3]]))
		rest = rest[at[1]:]
	}
}

func codeSpan(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

var plain = strings.NewReplacer("<", `\<`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "`", "\\`").Replace

// sourcePlace is where a source begins: a page, or a repository's name.
var sourcePlace = regexp.MustCompile(`^(?:https?://[^ ,)]+|github\.com/[A-Za-z0-9-]+/[A-Za-z0-9_.-]+)`)

// linked makes the place that a text begins with a link.
func linked(text string) string {
	place := sourcePlace.FindString(strings.ReplaceAll(text, `\_`, "_"))
	if place == "" {
		return text
	}
	rest := text[len(plain(place)):]
	if strings.HasPrefix(place, "http") {
		return "<" + place + ">" + rest
	}
	return "[" + plain(place) + "](https://" + place + ")" + rest
}
