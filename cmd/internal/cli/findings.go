package cli

import (
	"fmt"

	"tape/repo"
)

// describeFinding is something in what was to be pushed that looks like a secret. The entry
// is null where it is in a message of git's.
func describeFinding(f repo.SecretFinding) object {
	return object{{"tape", f.Tape}, {"entry", orNull(f.Entry)}, {"commit", orNull(f.Commit)}, {"rule", f.Rule}, {"path", f.Path},
		{"excerpt", f.Masked}, {"fingerprint", f.Fingerprint}}
}

// tellFindings shows people where the secrets are, and what they are called.
func (a *App) tellFindings(list []repo.SecretFinding) {
	const most = 50
	for _, f := range list[:min(len(list), most)] {
		where := fmt.Sprintf("@%d", f.Entry)
		if f.Entry == 0 {
			where = "commit " + shortID(f.Commit)
		}
		fmt.Fprintf(a.Stderr, "  %s %s  %s  %s  %s\n", truncate(safeLine(f.Tape), maxCell), where, f.Rule, truncate(safeLine(f.Masked), lineCells), f.Fingerprint)
	}
	if n := len(list) - most; n > 0 {
		fmt.Fprintf(a.Stderr, "  and %s; --json lists them\n", count(n, "other", "others"))
	}
}
