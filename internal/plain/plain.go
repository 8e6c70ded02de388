// Package plain makes texts that others wrote safe to show: nothing in them is obeyed or hidden.
package plain

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text makes visible what a terminal or a browser would obey or hide in a text: control characters, controls of the direction
// of writing, other characters that nobody sees, and bytes that are no UTF-8. Line ends and tabs stay.
func Text(text string) string { return visible(text, "\n\t") }

// Cell is the same for a text that has to keep to its line and to its column: line ends and tabs are made visible, too.
func Cell(text string) string { return visible(text, "") }

// visible writes as an escape, such as \x1b or \u202e, what is no graphic character and not among those kept.
func visible(text, kept string) string {
	var out strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&out, `\x%02x`, text[i])
		case unicode.IsGraphic(r) || strings.ContainsRune(kept, r):
			out.WriteRune(r)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&out, `\x%02x`, r)
		case r <= 0xffff:
			fmt.Fprintf(&out, `\u%04x`, r)
		default:
			fmt.Fprintf(&out, `\U%08x`, r)
		}
		i += size
	}
	return out.String()
}
