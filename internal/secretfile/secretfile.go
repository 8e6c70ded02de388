// Package secretfile reads the secrets that configuration files name by their place.
package secretfile

import (
	"context"
	"fmt"

	"github.com/jobwait/jobwait/activities"
	"github.com/jobwait/jobwait/internal/yamlfile"
)

// Source reads the secret at a place that the configuration file at path names. Errors name the place, never the value.
func Source(path string, place yamlfile.Place) activities.SecretSource {
	return func(context.Context) (activities.Secret, error) {
		value, err := place.Read(path)
		if err != nil {
			return activities.Secret{}, fmt.Errorf("%s cannot be read", place)
		}
		secret, err := activities.NewSecret(value)
		if err != nil {
			return activities.Secret{}, fmt.Errorf("%s: %w", place, err)
		}
		return secret, nil
	}
}
