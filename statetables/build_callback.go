package statetables

import (
	"fmt"
	"slices"
)

var (
	signatureSchemes    = []string{SchemeStandardWebhooks, SchemeHMAC, SchemeToken}
	signatureAlgorithms = []string{algorithmSHA1, algorithmSHA256, algorithmSHA512}
	signatureEncodings  = []string{encodingHex, encodingBase64}
	signedParts         = []string{signedBody, signedTimestampBody}
)

const (
	// defaultTolerance is that of the Standard Webhooks specification's own libraries.
	defaultTolerance = 300
	mostTolerance    = 3600
)

func (b *builder) buildCallback() {
	written := b.doc.Callback
	if written == nil {
		return
	}
	b.cite("callback", written.Source)
	if written.JobID == "" {
		b.fail("callback", "callback: job_id is missing; write where the job's id stands, like job_id: body.data.id, or job_id: path")
	}
	b.table.callback = &Callback{
		signature: b.signature(written.Signature), when: b.expression("callback.when", written.When, wantsBool),
		account: b.expression("callback.account", written.Account, wantsText), byPath: written.JobID == jobInPath,
	}
	if written.JobID != jobInPath {
		b.table.callback.jobID = b.expression("callback.job_id", written.JobID, wantsText)
	}
}

func (b *builder) signature(written SignatureDoc) Signature {
	const path = "callback.signature"
	if written.Header != "" && !headerShape.MatchString(written.Header) {
		b.fail(path+".header", "callback: signature: %q is no header name", written.Header)
	}
	switch written.Scheme {
	case SchemeStandardWebhooks:
		b.onlyTolerance(written)
	case SchemeToken:
		b.tokenSignature(written)
	case SchemeHMAC:
		b.hmacSignature(written)
	default:
		b.fail(path, "callback: signature: scheme %q; write one of %s. A provider that signs otherwise (an asymmetric key, the URL and "+
			"the fields of a form) cannot be received", written.Scheme, list(signatureSchemes))
	}
	return b.madeSignature(written)
}

func (b *builder) madeSignature(written SignatureDoc) Signature {
	made := Signature{
		Scheme: written.Scheme, Header: written.Header, Prefix: written.Prefix, Field: written.Field, Algorithm: written.Algorithm,
		Base64: written.Encoding == encodingBase64, TimestampHeader: written.TimestampHeader, TimestampField: written.TimestampField,
	}
	if written.Signed == signedTimestampBody || written.Scheme == SchemeStandardWebhooks {
		made.ToleranceSeconds = defaultTolerance
	}
	if written.ToleranceSeconds != nil {
		b.between("callback.signature.tolerance_seconds", *written.ToleranceSeconds, 1, mostTolerance)
		made.ToleranceSeconds = *written.ToleranceSeconds
	}
	return made
}

// onlyTolerance is what the specification leaves open.
func (b *builder) onlyTolerance(written SignatureDoc) {
	written.ToleranceSeconds = nil
	if (written != SignatureDoc{Scheme: SchemeStandardWebhooks}) {
		b.fail("callback.signature", "callback: signature: Standard Webhooks says the rest itself; keep scheme and tolerance_seconds")
	}
}

func (b *builder) tokenSignature(written SignatureDoc) {
	if (written != SignatureDoc{Scheme: SchemeToken, Header: written.Header, Prefix: written.Prefix}) {
		b.fail("callback.signature", "callback: signature: a token is compared as it stands; keep scheme, header and prefix")
	}
}

func (b *builder) hmacSignature(written SignatureDoc) {
	const path = "callback.signature"
	if written.Header == "" {
		b.fail(path, "callback: signature: header is missing; write the one that the signature stands in, like X-Hub-Signature-256")
	}
	b.oneOf(path, "algorithm", written.Algorithm, signatureAlgorithms)
	b.oneOf(path, "encoding", written.Encoding, signatureEncodings)
	b.oneOf(path, "signed", written.Signed, signedParts)
	timed := written.TimestampHeader != "" || written.TimestampField != ""
	switch {
	case written.Signed == signedTimestampBody && (written.TimestampHeader == "") == (written.TimestampField == ""):
		b.fail(path, "callback: signature: the time is signed; write where it stands: one of timestamp_header and timestamp_field")
	case written.Signed != signedTimestampBody && (timed || written.ToleranceSeconds != nil):
		b.fail(path, "callback: signature: only the body is signed, so no time can be believed; remove timestamp_header, timestamp_field and tolerance_seconds")
	case written.TimestampField != "" && written.Field == "":
		b.fail(path, "callback: signature: the header is a list with the time in %q; write which field the signature is: field: v1", written.TimestampField)
	case written.Field != "" && written.Prefix != "":
		b.fail(path, "callback: signature: a field of a list has no prefix; keep field or prefix")
	}
}

func (b *builder) oneOf(path, key, value string, words []string) {
	if !slices.Contains(words, value) {
		b.fail(path, "callback: signature: %s %q; write one of %s", key, value, list(words))
	}
}

// runCallbackExamples reads every example and compares.
func (b *builder) runCallbackExamples() {
	written := b.doc.Callback
	if written == nil || b.table.callback == nil {
		return
	}
	if len(written.Examples) == 0 {
		b.fail("callback", "callback: examples is missing; write at least one webhook and the job that it is about")
	}
	names := map[string]bool{}
	for i, example := range written.Examples {
		path := fmt.Sprintf("callback.examples[%d]", i)
		if example.Name == "" || names[example.Name] {
			b.fail(path, "callback: example %q: write a name of its own", example.Name)
		}
		names[example.Name] = true
		b.runCallbackExample(path, example)
	}
}

func (b *builder) runCallbackExample(path string, example CallbackExampleDoc) {
	body, err := bodyOf(example.Body)
	if err == nil {
		var got CallbackReading
		got, err = b.table.callback.Read(headersOf(example.Headers), body, example.Path)
		want := CallbackReading(example.Want)
		if err == nil && got != want {
			b.fail(path, "callback: example %q reads otherwise: job_id %q, account %q, ignored %t", example.Name, got.JobID, got.Account, got.Ignored)
		}
	}
	if err != nil {
		b.fail(path, "callback: example %q: %s", example.Name, err)
	}
}

func headersOf(written map[string]string) map[string][]string {
	header := make(map[string][]string, len(written))
	for name, value := range written {
		header[name] = []string{value}
	}
	return header
}
