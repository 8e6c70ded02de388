package sheet

import (
	"fmt"

	"github.com/jobwait/jobwait/statetables"
)

func (d describer) callback() Subject {
	s := Subject{Name: "callback"}
	called := d.Callback
	if called == nil {
		return s
	}
	s.say("%s", cited(d.callbackText(), called.Source))
	s.add("job id", "%s", code(called.JobID))
	s.add("account", "%s", code(called.Account))
	s.add("only when", "%s", code(called.When))
	return s
}

func (d describer) callbackText() string {
	switch signed := d.Callback.Signature; {
	case signed.Scheme == statetables.SchemeStandardWebhooks:
		return "signed by Standard Webhooks" + within(signed)
	case signed.Scheme == statetables.SchemeToken && signed.Header == "":
		return "a token in a header that is chosen when the webhook is set up"
	case signed.Scheme == statetables.SchemeToken:
		return "a token in the header " + code(signed.Header)
	default:
		return hmacText(signed) + within(signed)
	}
}

func hmacText(signed statetables.SignatureDoc) string {
	text := fmt.Sprintf("HMAC-%s over %s, in the header %s", signed.Algorithm, signed.Signed, code(signed.Header))
	if signed.Field != "" {
		text += " as " + code(signed.Field)
	}
	if signed.Signed == "body" {
		return text + "; no time is signed"
	}
	return text
}

func within(signed statetables.SignatureDoc) string {
	if signed.ToleranceSeconds == nil {
		return ""
	}
	return ", at most " + span(*signed.ToleranceSeconds) + " old"
}

// callbackWord is by what the provider's webhooks are known.
func (d describer) callbackWord() string {
	switch {
	case d.Callback == nil:
		return "–"
	case d.Callback.Signature.Scheme == statetables.SchemeToken:
		return "token"
	default:
		return "signed"
	}
}
