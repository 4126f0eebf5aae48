package layout

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"

	"tape/internal/git/gitstore"
)

// ForgottenPrefix is the prefix of refs at a remote that say which tapes were forgotten there. The rest of
// such a ref is a ForgottenID, and its value is ForgottenMark.
const ForgottenPrefix = "refs/tape/forgotten/"

// ForgottenID identifies a forgotten tape by its slug, without saying what it was called.
func ForgottenID(slug string) string {
	sum := sha256.Sum256([]byte(slug))
	return hex.EncodeToString(sum[:])
}

// ForgottenMark returns the commit that refs below ForgottenPrefix point to. It is always the same, and has no
// files.
func ForgottenMark() (hash gitstore.Hash, commit []byte) {
	nobody := gitstore.Signature{Name: "tape", Email: "tape@localhost", When: time.Unix(0, 0).UTC()}
	commit = gitstore.EncodeCommit(gitstore.Commit{Tree: gitstore.HashObject(gitstore.KindTree, nil), Author: nobody, Committer: nobody,
		Message: "a session was forgotten\n"})
	return gitstore.HashObject(gitstore.KindCommit, commit), commit
}

// IsForgottenRef reports whether a ref is ForgottenPrefix and a well-formed ForgottenID.
func IsForgottenRef(ref string) bool {
	id, ok := strings.CutPrefix(ref, ForgottenPrefix)
	raw, err := hex.DecodeString(id)
	return ok && err == nil && len(raw) == sha256.Size
}
