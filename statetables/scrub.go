package statetables

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxRawStateBytes  = 256
	maxCodeBytes      = 256
	maxMessageBytes   = 1024
	maxProgressBytes  = 256
	maxRequestIDBytes = 256
	maxReferenceBytes = 4096
	// maxScrubBytes bounds the text that is looked through for secrets; what follows is dropped.
	maxScrubBytes = 16 << 10
)

// display makes text fit to be shown: valid UTF-8, no control characters, at most limit bytes and cut on a rune. What it
// replaces stays visible, so that no text is made equal to another that a table lists.
func display(text string, limit int) string {
	text = cut(text, 4*limit)
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return utf8.RuneError
		}
		return r
	}, text)
	return cut(text, limit)
}

// cut shortens text to at most limit bytes without splitting a rune.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

const removed = "[removed]"

var (
	urlSecrets = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]{0,20}://)(?:[^\s/?#@"']*@)?([^\s?#"'<>]*)(?:[?#][^\s"'<>]*)?`)
	authWords  = regexp.MustCompile(`(?i)\b(bearer|basic|negotiate|token|apikey)(\s+)[A-Za-z0-9._~+/=-]{8,}`)
	keyValues  = regexp.MustCompile(`(?i)([a-z0-9_.-]{0,64}(?:key|token|secret|passw(?:or)?d|pwd|signature|credential|authorization|cookie|session)[a-z0-9_.-]{0,64}["']?\s*(?:=|:)\s*["']?)[^\s"',;&)]{6,}`)
	shortPairs = regexp.MustCompile(`(?i)\b((?:sig|key|code|auth|token|password|pwd|secret)=)[^\s"',;&)]+`)
	known4     = regexp.MustCompile(`\b(?:sk|pk|rk|ghp|gho|ghs|ghu|github_pat|glpat|xox[abprs]|hf|r8|AIza|AKIA|ASIA|ya29\.)[A-Za-z0-9_.-]{12,}|\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)*`)
	longRuns   = regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`)
	uuid       = regexp.MustCompile(`^[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
)

// scrub bounds a provider's free text and takes out what looks like a secret: credentials by name or shape, long runs
// of letters and digits, and user, password and query of URLs. A UUID stays: it identifies, it does not authorise.
func scrub(text string, limit int) string {
	text = dropCutWord(text)
	text = urlSecrets.ReplaceAllString(text, "${1}${2}")
	text = authWords.ReplaceAllString(text, "${1}${2}"+removed)
	text = keyValues.ReplaceAllString(text, "${1}"+removed)
	text = shortPairs.ReplaceAllString(text, "${1}"+removed)
	text = known4.ReplaceAllString(text, removed)
	text = longRuns.ReplaceAllStringFunc(text, scrubRun)
	return display(text, limit)
}

// dropCutWord bounds the text; a word that the cut split would no longer look like the secret it may be.
func dropCutWord(text string) string {
	if len(text) <= maxScrubBytes {
		return text
	}
	text = cut(text, maxScrubBytes)
	return text[:max(strings.LastIndexAny(text, " \t\n"), 0)]
}

func scrubRun(run string) string {
	if uuid.MatchString(run) || !strings.ContainsAny(run, "0123456789") {
		return run
	}
	return removed
}
