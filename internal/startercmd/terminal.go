package startercmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/jobwait/jobwait/internal/plain"
)

// leastWidth is the narrowest terminal whose width is kept to: below it, words would stand alone.
const leastWidth = 40

// isTerminal reports whether somebody sits at a stream.
func isTerminal(stream any) bool {
	file, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// width is how many columns a stream shows; 0 where it is no terminal, or nobody knows.
func width(stream any) int {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil || columns == 0 {
		return 0
	}
	return max(columns, leastWidth)
}

// height is how many lines a stream shows; 0 where it is no terminal, or nobody knows.
func height(stream any) int {
	file, ok := stream.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	_, lines, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return lines
}

// wrap breaks lines that are longer than so many columns at spaces; what follows is set in by two more. No columns: nothing is
// broken, so that programs read the lines as they are. A word that is longer by itself, such as a URL, stays whole.
func wrap(text string, columns int) string {
	if columns == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = wrapLine(line, columns)
	}
	return strings.Join(lines, "\n")
}

func wrapLine(line string, columns int) string {
	if utf8.RuneCountInString(line) <= columns {
		return line
	}
	indent := strings.Repeat(" ", len(line)-len(strings.TrimLeft(line, " "))+2)
	var out strings.Builder
	used := 0
	for i, word := range strings.Split(line, " ") {
		length := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+length > columns && used > len(indent):
			out.WriteString("\n" + indent)
			used = len(indent)
		default:
			out.WriteByte(' ')
			used++
		}
		out.WriteString(word)
		used += length
	}
	return out.String()
}

// message tells people something long, in lines that their terminal has room for.
func (a *app) message(text string) { a.say("%s\n", wrap(text, width(a.err))) }

// prompter asks questions of whoever sits at a terminal.
type prompter struct {
	out   io.Writer
	lines <-chan string
	// moot is closed when no answer is of use any more. Nil: that does not happen.
	moot <-chan struct{}
}

// readLines reads in the background, so that a Ctrl-C ends the waiting for an answer.
func readLines(from io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for scanner := bufio.NewScanner(from); scanner.Scan(); {
			lines <- strings.TrimSpace(scanner.Text())
		}
	}()
	return lines
}

var (
	errNoInput = errors.New("standard input has ended")
	errMoot    = errors.New("the question is not open any more")
)

// line is the answer to one question.
func (p prompter) line(ctx context.Context, question string) (string, error) {
	p.printf("  %s ", question)
	select {
	case <-ctx.Done():
		p.printf("\n")
		return "", ctx.Err()
	case <-p.moot:
		p.printf("\n")
		return "", errMoot
	case line, ok := <-p.lines:
		if !ok {
			p.printf("\n")
			return "", errNoInput
		}
		return line, nil
	}
}

func (p prompter) printf(format string, args ...any) {
	_, _ = fmt.Fprint(p.out, plain.Text(fmt.Sprintf(format, args...)))
}

// longestLine is the longest line that a terminal passes on whole: Linux keeps 4,095 bytes of a longer one and drops the rest.
const longestLine = 4094

// until asks until an answer is taken; take says what is wrong with one that is not.
func (p prompter) until(ctx context.Context, question string, take func(line string) (wrong string)) error {
	for {
		line, err := p.line(ctx, question)
		if err != nil {
			return err
		}
		wrong := fmt.Sprintf("a terminal may have cut this: its lines have at most %d bytes; answer with a command, such as attach --status-url", longestLine)
		if len(line) <= longestLine {
			wrong = take(line)
		}
		if wrong == "" {
			return nil
		}
		p.printf("  %s\n", wrong)
	}
}
