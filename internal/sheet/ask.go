package sheet

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobwait/jobwait/statetables"
)

// handedOut is how a URL begins that is made of the one which the submission was answered with.
const handedOut = "{status_url"

func (d describer) polled() Subject {
	s := Subject{Name: "polled"}
	switch after, ok := strings.CutPrefix(d.Request.URL, handedOut+"}"); {
	case !ok:
		s.say("GET %s", code(d.Request.URL))
	case after == "":
		s.say("GET the URL that the submission was answered with")
	default:
		s.say("GET the URL that the submission was answered with, with %s behind its path", code(after))
	}
	s.addAll("query ", d.Request.Query)
	s.addAll("header ", d.Request.Headers)
	s.add("query allowed", "%s", words(d.Request.StatusURLQuery))
	s.add("origins", "%s", words(d.Request.Origins))
	if d.NextURL != "" {
		s.add("then", "the URL that each answer hands out: %s", code(d.NextURL))
	}
	if d.Request.AllowPrivateNetwork {
		s.add("private network", "allowed: the provider may live on loopback, private and link-local addresses")
	}
	s.add("only observes", "%s", d.attested())
	s.add("console", "%s", code(d.ConsoleURL))
	return s
}

// attested is how it is known that the status call only observes.
func (d describer) attested() string {
	switch {
	case d.ReadOnly == nil:
		return ""
	case d.ReadOnly.Source != "":
		return cited("documented", d.ReadOnly.Source)
	default:
		return "tried on " + d.ReadOnly.Tried
	}
}

func (d describer) auth() Subject {
	s := Subject{Name: "auth"}
	if ways := d.Request.Auth; len(ways) == 1 {
		s.say("%s", authText(ways[0]))
		return s
	}
	s.say("one of these; a credential's scheme says which, else the first")
	for _, way := range d.Request.Auth {
		s.add(code(way.Scheme), "%s", authText(way))
	}
	return s
}

func authText(way statetables.AuthDoc) string {
	prefix := way.Prefix
	if prefix != "" {
		prefix += " "
	}
	switch way.Scheme {
	case "none":
		return "no credential is sent"
	case "bearer":
		return code("Authorization: Bearer <secret>")
	case "basic":
		return code("Authorization: Basic <user:password in base64>")
	case "header":
		return code(way.Name + ": " + prefix + "<secret>")
	case "query":
		return code("?"+way.Name+"=<secret>") + ", added when the request leaves"
	default:
		return way.Scheme
	}
}

func (d describer) account() Subject {
	s := Subject{Name: "account"}
	if d.AccountMustBe == "" {
		s.say("any name that tells your accounts at the provider apart")
		return s
	}
	s.say("must be %s: the job id alone is not unique", code(d.AccountMustBe))
	return s
}

func (d describer) params() Subject {
	s := Subject{Name: "params"}
	for _, name := range slices.Sorted(maps.Keys(d.Params)) {
		s.add(code(name), "%s", paramText(d.Params[name]))
	}
	return s
}

func paramText(param statetables.ParamDoc) string {
	text := "matches " + code(param.Pattern)
	if param.About != "" {
		text = param.About + "; " + text
	}
	switch {
	case param.Default == nil:
		return text + "; required"
	case *param.Default == "":
		return text + "; may be left out"
	default:
		return text + "; " + code(*param.Default) + " where it is left out"
	}
}

func (d describer) pace() Subject {
	s := Subject{Name: "pace"}
	schedule := d.Schedule
	s.say("%s", paceText(schedule))
	if known := schedule.Expected; known != nil {
		s.add("such jobs take", "%s", cited(fmt.Sprintf("%s or less in half of the cases, %s or less in nine of ten", span(known.P50Seconds), span(known.P90Seconds)), known.Source))
	}
	if schedule.Floor != nil {
		s.add("never sooner than", "%s", cited(span(schedule.Floor.Seconds)+" after the last request", schedule.Floor.Source))
	}
	if schedule.Cap != nil {
		s.add("never sleeps longer than", "%s", cited(span(schedule.Cap.Seconds), schedule.Cap.Source))
	}
	return s
}

func (d describer) rateLimits() Subject {
	s := Subject{Name: "rate limits"}
	for _, limit := range d.RateLimits {
		s.say("%s", cited(limit.Says, limit.Source))
	}
	return s
}

func (d describer) sources() Subject {
	s := Subject{Name: "sources"}
	for _, id := range slices.Sorted(maps.Keys(d.Sources)) {
		s.add(code(id), "%s, read %s, for %s", d.Sources[id].At, d.Sources[id].Read, codes(d.Supports(id)))
	}
	return s
}
