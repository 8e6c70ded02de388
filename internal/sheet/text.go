package sheet

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

const (
	// width is where lines of text are broken, where they can be.
	width  = 110
	indent = 14
)

// WriteText writes a sheet for a terminal.
func (s Sheet) WriteText(to io.Writer) error {
	if _, err := fmt.Fprintf(to, "%s: %s\n", s.Provider, s.Title); err != nil {
		return err
	}
	for _, subject := range s.Subjects {
		if _, err := io.WriteString(to, "\n"+subject.text()); err != nil {
			return err
		}
	}
	return nil
}

func (s Subject) text() string {
	var out strings.Builder
	label := s.Name
	for _, sentence := range s.Says {
		out.WriteString(hanging(label, sentence, indent))
		label = ""
	}
	names := 0
	for _, row := range s.Rows {
		names = max(names, utf8.RuneCountInString(bare(row.Name)))
	}
	for _, row := range s.Rows {
		name := fmt.Sprintf("%-*s%s", indent, label, bare(row.Name))
		out.WriteString(hanging(name, row.Text, indent+min(names, 28)+2))
		label = ""
	}
	return out.String()
}

// hanging writes a name and a text beside it, all lines of which begin in the same column.
func hanging(name, text string, column int) string {
	line := fmt.Sprintf("%-*s", column, name)
	if utf8.RuneCountInString(name) >= column {
		line = name + "  "
	}
	var out strings.Builder
	begun := false
	for piece := range strings.SplitSeq(bare(text), " ") {
		if begun && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(piece) > width {
			out.WriteString(line + "\n")
			line, begun = strings.Repeat(" ", column), false
		}
		if begun {
			line += " "
		}
		line, begun = line+piece, true
	}
	return out.String() + strings.TrimRight(line, " ") + "\n"
}

// bare is a text without its marks of code.
func bare(text string) string { return strings.ReplaceAll(text, fence, "") }
