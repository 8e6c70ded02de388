package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteJSON writes the whole report, including the value of each turn.
func (r *Report) WriteJSON(to io.Writer) error {
	encoder := json.NewEncoder(to)
	encoder.SetIndent("", "  ")
	return encoder.Encode(r)
}

// Missed returns the names of the figures that miss their target.
func (r *Report) Missed() []string {
	var names []string
	for _, f := range r.Figures {
		if !f.Met {
			names = append(names, f.Name)
		}
	}
	return names
}

// Markdown returns the report as a paragraph about where it was measured and a table of medians.
func (r *Report) Markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Measured on %s at commit %s: %s, %d cores, %s, Temporal server %s in memory, %.0f minutes",
		r.Date.Format("2006-01-02"), r.Commit, r.Processor, r.Cores, r.Go, r.Server, r.Minutes)
	if r.LoadBefore != "" {
		fmt.Fprintf(&text, ", load average %s before and %s after", r.LoadBefore, r.LoadAfter)
	}
	text.WriteString(".\n\n| figure | bare loop | jobwait | ratio | target | |\n| --- | ---: | ---: | ---: | --- | --- |\n")
	for _, f := range r.Figures {
		text.WriteString(f.row())
	}
	return text.String()
}

func (f Figure) row() string {
	name, ratio, verdict := f.Name, "", ""
	if f.Unit != "" {
		name += ", " + f.Unit
	}
	if f.Ratio != 0 {
		ratio = strconv.FormatFloat(f.Ratio, 'f', 2, 64)
	}
	switch {
	case f.Target != "" && f.Met:
		verdict = "met"
	case f.Target != "":
		verdict = "missed"
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s | %s |\n", name, cell(f.Bare), cell(f.Jobwait), ratio, f.Target, verdict)
}

// cell returns the median of the turns, followed, if there are several, by the minimum and the maximum.
func cell(values []float64) string {
	if len(values) == 0 {
		return ""
	}
	text := number(median(values))
	low, high := number(quantile(values, 0)), number(quantile(values, 1))
	if low != high {
		text += " (" + low + " to " + high + ")"
	}
	return text
}

// number shows three digits, or all digits before the point if there are more.
func number(value float64) string {
	switch {
	case value == float64(int64(value)):
		return thousands(int(value))
	case value >= 100 || value <= -100:
		return thousands(int(value + 0.5))
	case value >= 10 || value <= -10:
		return strconv.FormatFloat(value, 'f', 1, 64)
	default:
		return strconv.FormatFloat(value, 'f', 2, 64)
	}
}

func thousands(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0 && text[i-1] != '-'; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

const (
	beginMark = "<!-- figures: begin, written by go run ./internal/bench/cmd --docs docs/performance.md -->\n"
	endMark   = "<!-- figures: end -->\n"
)

// Insert returns the page with the report between its marks. The error is that of a page without them.
func (r *Report) Insert(page string) (string, error) {
	before, rest, begun := strings.Cut(page, beginMark)
	_, after, ended := strings.Cut(rest, endMark)
	if !begun || !ended {
		return "", errors.New("bench: the page has no marks to put the figures between")
	}
	return before + beginMark + "\n" + r.Markdown() + "\n" + endMark + after, nil
}
