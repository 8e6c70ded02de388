package sheet

//go:generate go test -run ^TestProvidersPageIsCurrent$ -update .
