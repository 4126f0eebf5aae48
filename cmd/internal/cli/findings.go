package cli

import (
	"fmt"

	"tape/repo"
)

// findingJSON is something in what was to be pushed that looks like a secret. The entry is
// null where it is in a message of git's.
type findingJSON struct {
	Tape        string `json:"tape"`
	Entry       any    `json:"entry"`
	Commit      any    `json:"commit"`
	Rule        string `json:"rule"`
	Path        string `json:"path"`
	Excerpt     string `json:"excerpt"` // masked
	Fingerprint string `json:"fingerprint"`
}

func describeFindings(list []repo.SecretFinding) []findingJSON {
	out := make([]findingJSON, len(list))
	for i, f := range list {
		out[i] = findingJSON{Tape: f.Tape, Commit: orNull(f.Commit), Rule: f.Rule, Path: f.Path, Excerpt: f.Masked, Fingerprint: f.Fingerprint}
		if f.Entry > 0 {
			out[i].Entry = f.Entry
		}
	}
	return out
}

// tellFindings shows people where the secrets are, and what they are called.
func (a *App) tellFindings(list []repo.SecretFinding) {
	const most = 50
	for _, f := range list[:min(len(list), most)] {
		where := fmt.Sprintf("@%d", f.Entry)
		if f.Entry == 0 {
			where = fmt.Sprintf("commit %.12s", f.Commit)
		}
		fmt.Fprintf(a.Stderr, "  %s %s  %s  %s  %s\n", truncate(safeLine(f.Tape), maxCell), where, f.Rule, truncate(safeLine(f.Masked), lineCells), f.Fingerprint)
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(a.Stderr, "  and %s; --json lists them\n", count(int64(n), "other", "others"))
	}
}
