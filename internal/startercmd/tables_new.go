package startercmd

import (
	_ "embed"
	"regexp"
	"text/template"
	"time"

	"github.com/spf13/cobra"
)

//go:embed skeleton.yaml
var skeletonText string

var skeleton = template.Must(template.New("skeleton.yaml").Parse(skeletonText))

func (a *app) tablesNewCommand() *cobra.Command {
	var url string
	command := &cobra.Command{
		Use:   "new PROVIDER",
		Short: "a table to fill in, for a provider of your own",
		Long: `New writes a table with a mark (<-) at each place that must be filled in, and the rest of the format commented out.

  jobwait tables new acme-transcripts --url 'https://api.acme.example/v2/transcripts/{job_id}' > tables/acme-transcripts.yaml
  jobwait tables check tables`,
		Args: oneProvider,
		RunE: func(_ *cobra.Command, args []string) error { return a.newTable(args[0], url, time.Now()) },
	}
	command.Flags().StringVar(&url, "url", "", "`URL` of the status call with {job_id} in it, or {status_url} where the submission hands it out")
	return command
}

// blanks is what a skeleton is filled with beforehand.
type blanks struct {
	Provider, Today, URL, CancelURL string
	// HandedOut says that the status URL is the submission's.
	HandedOut bool
	// URLMark and JobMark are the marks of their lines, where something is left to fill in.
	URLMark, JobMark string
}

const handedOutURL = "{status_url}"

// providerName is how a table names its provider; statetables.Load has the same rule.
var providerName = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

func (a *app) newTable(provider, url string, now time.Time) error {
	if !providerName.MatchString(provider) || len(provider) > 64 {
		return usagef("provider %q: give 1 to 64 lower-case letters, digits and single hyphens, like acme-transcripts", provider)
	}
	known, err := localTables("")
	if err != nil {
		return err
	}
	if _, ok := known.Table(provider); ok {
		return hinted(usagef("provider %q has a built-in table, and a provider has one; give yours another name", provider),
			"`%s tables show %s` says what is there", a.name, provider)
	}
	if err := checkStatusURL(url); err != nil {
		return err
	}
	return skeleton.Execute(a.out, blanksOf(provider, url, now))
}

func blanksOf(provider, url string, now time.Time) blanks {
	b := blanks{Provider: provider, Today: now.UTC().Format(time.DateOnly), URL: url, CancelURL: url + "/cancel"}
	switch url {
	case handedOutURL:
		b.HandedOut, b.JobMark, b.CancelURL = true, " # <- the URL that a submission was answered with", `"{status_url}/cancel"`
	case "":
		b.URLMark, b.CancelURL = " # <- like https://api.example.com/jobs/{job_id}", "https://api.example.com/jobs/{job_id}/cancel"
	}
	return b
}

// statusURL is a URL that stands in single quotes in a table.
var statusURL = regexp.MustCompile(`^https?://[^\s'?#]+$`)

func checkStatusURL(url string) error {
	if url == "" || url == handedOutURL || statusURL.MatchString(url) {
		return nil
	}
	return usagef("--url %q: give https://host/path/{job_id} without a query, which goes under request: query, or {status_url}", url)
}
