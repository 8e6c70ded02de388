package callbacks

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// Whatever comes, without the secret it is not genuine, and nothing falls over.
func FuzzVerify(f *testing.F) {
	f.Add("t=1700000000,v1=00ff", "1700000000", `{"id":"j-1"}`)
	f.Add("sha256=", "", "")
	f.Add("v1,AAAA v1,BBBB", "-1", "x")
	f.Add(strings.Repeat(",v1=", 50), "99999999999999999999", "\x00")
	f.Add("YWJj", "1700000000", `{"id":"j-1"}`)                              // base64, the time in a header of its own
	f.Add("v1=9be2242094a9a8c00c64306f382a7f9d,v2=00ff", "", `{"id":"j-1"}`) // a list without a time
	f.Add("0011223344556677889900112233445566778899", "", "{}")              // the hash alone
	f.Add("whsec_c2VjcmV0", "", "{}")                                        // a token
	kinds := []statetables.Signature{
		{Scheme: statetables.SchemeStandardWebhooks, ToleranceSeconds: 300},
		{Scheme: statetables.SchemeHMAC, Header: "X-S", Algorithm: "sha256", Field: "v1", TimestampField: "t", ToleranceSeconds: 300},
		{Scheme: statetables.SchemeHMAC, Header: "X-S", Algorithm: "sha256", Field: "v1"},
		{Scheme: statetables.SchemeHMAC, Header: "X-S", Algorithm: "sha1", Prefix: "sha256="},
		{Scheme: statetables.SchemeHMAC, Header: "X-S", Algorithm: "sha512"},
		{Scheme: statetables.SchemeHMAC, Header: "X-S", Algorithm: "sha512", Base64: true, TimestampHeader: "X-T", ToleranceSeconds: 300},
		{Scheme: statetables.SchemeToken, Header: "X-S", Prefix: "v1"},
	}
	const secret = "whsec_c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA=="
	f.Fuzz(func(t *testing.T, signature, at, body string) {
		header := http.Header{"X-S": {signature}, "X-T": {at}}
		header.Set("webhook-id", at)
		header.Set("webhook-timestamp", at)
		header.Set("webhook-signature", signature)
		for _, kind := range kinds {
			if strings.Contains(signature, secret) {
				continue // a token may be guessed by who reads this
			}
			require.Equal(t, forged, verifier{kind}.verify(header, []byte(body), []string{secret}, time.Unix(1700000000, 0)))
		}
	})
}
