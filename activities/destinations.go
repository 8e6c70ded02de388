package activities

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"gocloud.dev/blob"

	"github.com/jobwait/jobwait/internal/yamlfile"
)

// Destination is a bucket to which fetches may write results.
type Destination struct {
	// Bucket is where objects are written. The caller that opened it closes it. Required.
	Bucket *blob.Bucket
	// MaxBytes is the largest object to accept. 0 means no limit beyond that of the fetch.
	MaxBytes int64
	// Providers and Accounts restrict whose results may be written. Empty means any.
	Providers []string
	Accounts  []string
}

func (d Destination) validate() error {
	switch {
	case d.Bucket == nil:
		return errors.New("there is no bucket; open one, such as blob.OpenBucket of gocloud.dev/blob does")
	case d.MaxBytes < 0:
		return fmt.Errorf("max_bytes is %d, at least 1 is needed, or 0 for no limit of its own", d.MaxBytes)
	default:
		return nil
	}
}

// allows reports whether results of this provider and account may go there.
func (d Destination) allows(provider, account string) bool {
	return (len(d.Providers) == 0 || slices.Contains(d.Providers, provider)) &&
		(len(d.Accounts) == 0 || slices.Contains(d.Accounts, account))
}

type destinationsDocument struct {
	Destinations map[string]destinationEntry `yaml:"destinations"`
}

type destinationEntry struct {
	URL       string   `yaml:"url"`
	MaxBytes  int64    `yaml:"max_bytes"`
	Providers []string `yaml:"providers"`
	Accounts  []string `yaml:"accounts"`
}

// LoadDestinations reads a YAML file and opens the buckets that it names:
//
//	destinations:
//	  reports:
//	    url: file:///var/lib/jobwait/reports?create_dir=true&no_tmp_dir=true
//	    max_bytes: 1073741824
//	    providers: [openai-batch]  # empty or absent: any
//	    accounts: []               # empty or absent: any
//
// A URL is one of gocloud.dev/blob, with a scheme whose driver the program imports. Unknown fields are refused. Errors do
// not repeat the URL, which may hold a key.
func LoadDestinations(ctx context.Context, path string) (map[string]Destination, error) {
	var document destinationsDocument
	if err := yamlfile.Read("destinations", path, &document); err != nil {
		return nil, err
	}
	opened := make(map[string]Destination, len(document.Destinations))
	for _, name := range slices.Sorted(maps.Keys(document.Destinations)) {
		destination, err := openDestination(ctx, document.Destinations[name])
		if err != nil {
			return nil, fmt.Errorf("destinations: %q: %w", name, err)
		}
		opened[name] = destination
	}
	return opened, nil
}

func openDestination(ctx context.Context, entry destinationEntry) (Destination, error) {
	at, err := url.Parse(entry.URL)
	if err != nil || at.Scheme == "" {
		return Destination{}, errors.New("url is not a URL, such as file:///var/lib/jobwait/reports?create_dir=true")
	}
	if !blob.DefaultURLMux().ValidBucketScheme(at.Scheme) {
		return Destination{}, fmt.Errorf("url has the scheme %q, for which this worker has no driver; it knows %q", at.Scheme, blob.DefaultURLMux().BucketSchemes())
	}
	bucket, err := blob.OpenBucket(ctx, entry.URL)
	if err != nil {
		return Destination{}, fmt.Errorf("the %s bucket cannot be opened; check its path or name, its parameters and the access of this worker", at.Scheme)
	}
	destination := Destination{Bucket: bucket, MaxBytes: entry.MaxBytes, Providers: entry.Providers, Accounts: entry.Accounts}
	return destination, destination.validate()
}
