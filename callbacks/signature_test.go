package callbacks

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobwait/jobwait/statetables"
)

// Vectors that others published: of Standard Webhooks (its specification's libraries), of GitHub and of CircleCI (their pages on
// validating).
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	github := verifier{statetables.Signature{Scheme: "hmac", Header: "X-Hub-Signature-256", Prefix: "sha256=", Algorithm: "sha256"}}
	header := http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}
	const githubSecret = "It's a Secret to Everybody"
	require.Equal(t, genuine, github.verify(header, []byte("Hello, World!"), []string{"another secret of ours", githubSecret}, time.Time{}))
	require.Equal(t, forged, github.verify(header, []byte("Hello, World?"), []string{githubSecret}, time.Time{}))

	circleCI := verifier{statetables.Signature{Scheme: "hmac", Header: "Circleci-Signature", Field: "v1", Algorithm: "sha256"}}
	header = http.Header{"Circleci-Signature": {"v1=9be2242094a9a8c00c64306f382a7f9d691de910b4a266f67bd314ef18ac49fa,v2=00ff"}}
	require.Equal(t, genuine, circleCI.verify(header, []byte("an-important-request-payload"), []string{"hunter123"}, time.Time{}))
	require.Equal(t, forged, circleCI.verify(header, []byte("an-important-request-payload"), []string{"hunter124"}, time.Time{}))

	standard := verifier{statetables.Signature{Scheme: statetables.SchemeStandardWebhooks, ToleranceSeconds: 300}}
	header = http.Header{}
	header.Set("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek")
	header.Set("webhook-timestamp", "1614265330")
	header.Set("webhook-signature", "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=")
	const standardSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	body, at := []byte(`{"test": 2432232314}`), time.Unix(1614265330, 0)
	for offset, want := range map[time.Duration]verdict{
		0: genuine, 300 * time.Second: genuine, 301 * time.Second: late, -300 * time.Second: genuine, -301 * time.Second: late,
	} {
		require.Equal(t, want, standard.verify(header, body, []string{standardSecret}, at.Add(offset)), offset)
	}
}

// What a signature is written like, in all the ways that tables know, and what is none.
func TestForms(t *testing.T) {
	t.Parallel()
	const body, secret = `{"id":"j-1"}`, "a secret of sixteen and more"
	at := time.Unix(1700000000, 0)
	for name, test := range map[string]struct {
		signature statetables.Signature
		header    http.Header
		want      verdict
	}{
		"sha1": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha1"},
			header:    http.Header{"X-S": {"f82adc2f22df2e539a45e4598a5d82b9c02e82c4"}}, want: genuine,
		},
		"sha512 in base64": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha512", Base64: true},
			header:    http.Header{"X-S": {"@sha512"}}, want: genuine,
		},
		"the time in a header": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256", TimestampHeader: "X-T", ToleranceSeconds: 60},
			header:    http.Header{"X-S": {"@timed"}, "X-T": {"1700000030"}}, want: genuine,
		},
		"another time than was signed": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256", TimestampHeader: "X-T", ToleranceSeconds: 60},
			header:    http.Header{"X-S": {"@timed"}, "X-T": {"1700000031"}}, want: forged,
		},
		"two of a list, one of them ours": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256", Field: "v1", TimestampField: "t", ToleranceSeconds: 60},
			header:    http.Header{"X-S": {"t=1700000030, v1=00ff,v1=@timed,v0=@timed"}}, want: genuine,
		},
		"two times": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256", Field: "v1", TimestampField: "t", ToleranceSeconds: 60},
			header:    http.Header{"X-S": {"t=1700000030,t=1700000030,v1=@timed"}}, want: forged,
		},
		"a header twice": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256"},
			header:    http.Header{"X-S": {"@plain", "@plain"}}, want: forged,
		},
		"without the prefix": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256", Prefix: "sha256="},
			header:    http.Header{"X-S": {"@plain"}}, want: forged,
		},
		"cut": {
			signature: statetables.Signature{Scheme: "hmac", Header: "X-S", Algorithm: "sha256"},
			header:    http.Header{"X-S": {"00"}}, want: forged,
		},
		"a token": {
			signature: statetables.Signature{Scheme: "token", Header: "Authorization", Prefix: "Bearer "},
			header:    http.Header{"Authorization": {"Bearer " + secret}}, want: genuine,
		},
		"a token that begins alike": {
			signature: statetables.Signature{Scheme: "token", Header: "Authorization", Prefix: "Bearer "},
			header:    http.Header{"Authorization": {"Bearer " + secret[:20]}}, want: forged,
		},
		"no token": {signature: statetables.Signature{Scheme: "token", Header: "X-T"}, header: http.Header{}, want: forged},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, test.want, verifier{test.signature}.verify(filledIn(test.header), []byte(body), []string{secret}, at))
		})
	}
}

// filledIn puts signatures in, which Python's hmac has made.
func filledIn(header http.Header) http.Header {
	made := strings.NewReplacer(
		"@sha512", "YxLBrI0VTP4y2cumWi2beVUPjzFQRqoJm6naOoGcdoTgOz2AZAa5nZbd3Q+ajkLe0RL6DK1I7lKJGH+AKhRCkA==",
		"@timed", "5a18bd1f992a53ca51380b067d4bbb059ab96dd425ef71335903daf12d38e87c",
		"@plain", "188bce6b08965d182915543827e1d12038cb8c7bb532cf698e244bf3ecbd2f2f",
	)
	filled := http.Header{}
	for name, values := range header {
		for _, value := range values {
			filled.Add(name, made.Replace(value))
		}
	}
	return filled
}
