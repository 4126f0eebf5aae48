package cli

import (
	"fmt"

	"tape/repo"
)

// distanceJSON is how far a tape and a remote are apart, in entries.
type distanceJSON struct {
	Remote string `json:"remote"`
	Ahead  int64  `json:"ahead"`
	Behind int64  `json:"behind"`
	Shared bool   `json:"shared"`
}

func describeDistances(list []repo.Distance) []distanceJSON {
	out := make([]distanceJSON, len(list))
	for i, d := range list {
		out[i] = distanceJSON{Remote: d.Remote, Ahead: d.Ahead, Behind: d.Behind, Shared: d.Shared}
	}
	return out
}

func (d distanceJSON) text() string {
	switch {
	case !d.Shared:
		return "not there"
	case d.Ahead > 0 && d.Behind > 0:
		return fmt.Sprintf("%d ahead, %d behind", d.Ahead, d.Behind)
	case d.Ahead > 0:
		return fmt.Sprintf("%d ahead", d.Ahead)
	case d.Behind > 0:
		return fmt.Sprintf("%d behind", d.Behind)
	}
	return "up to date"
}
