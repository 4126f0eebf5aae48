package cli

import (
	"fmt"

	"tape/repo"
)

// describeDistance is how far a tape and a remote are apart, in entries.
func describeDistance(d repo.Distance) object {
	return object{{"remote", d.Remote}, {"ahead", d.Ahead}, {"behind", d.Behind}, {"shared", d.Shared}}
}

func distanceText(d repo.Distance) string {
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
