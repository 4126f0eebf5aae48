package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"tape/internal/git/gitstore"
	"tape/internal/store/join"
	"tape/internal/store/lineage"
	"tape/internal/store/purge"
	"tape/internal/text/secrets"
	"tape/repo"
	"testing"
)

// LeakFinder finds texts made by Leak.
type LeakFinder struct{}

// Leak is a text that a LeakFinder takes for a secret.
func Leak(n int) string { return fmt.Sprintf("LEAK-%016d", n) }

// LeakPrint is the fingerprint of what a LeakFinder finds.
func LeakPrint(secret string) string { return Print("leak", secret) }

// Print is the fingerprint of a secret, computed from its definition.
func Print(rule, secret string) string {
	sum := sha256.Sum256([]byte(rule + "\x00" + secret))
	return hex.EncodeToString(sum[:8])
}

var leakPattern = regexp.MustCompile(`LEAK-[0-9]{16}z*`)

// Mask replaces each secret by a mark.
func (LeakFinder) Mask(value []byte, skip func(secrets.Finding) bool) ([]byte, []secrets.Finding) {
	var found []secrets.Finding
	out := leakPattern.ReplaceAllFunc(value, func(secret []byte) []byte {
		f := secrets.Finding{Rule: "leak", Fingerprint: LeakPrint(string(secret))}
		if skip != nil && skip(f) {
			return secret
		}
		found = append(found, f)
		return []byte("[redacted:leak:" + f.Fingerprint + "]")
	})
	return out, found
}

// Secrets returns the secrets in a text.
func (LeakFinder) Secrets(value []byte, skip func(secrets.Finding) bool) []secrets.Secret {
	var list []secrets.Secret
	for _, text := range leakPattern.FindAllString(string(value), -1) {
		f := secrets.Finding{Rule: "leak", Fingerprint: LeakPrint(text)}
		if skip == nil || !skip(f) {
			list = append(list, secrets.Secret{Rule: f.Rule, Fingerprint: f.Fingerprint, Text: text})
		}
	}
	return list
}

// Purge purges a tape. If o.Find is nil, a LeakFinder finds the secrets.
func Purge(t testing.TB, tp *repo.Tape, o repo.PurgeOptions) repo.Purged {
	t.Helper()
	if o.Find == nil {
		o.Find = LeakFinder{}
	}
	done, err := tp.Purge(t.Context(), o)
	Must(t, err)
	return done
}

// PurgedCopy makes a workspace with the tape m, and a copy of it, with the tape theirs,
// that is purged with o. The workspace of m has fetched the purged history; fetched is its
// head.
func PurgedCopy(t *testing.T, o repo.PurgeOptions) (m, theirs *repo.Tape, fetched gitstore.Hash) {
	t.Helper()
	s := New(t, nil)
	m = Tape(t, s, "main")
	Append(t, m, repo.Message("user", "one"), repo.Message("user", Leak(1)))
	Handoff(t, m, "to "+Leak(1))
	x := Fork(t, m, "x", "")
	Append(t, x, repo.Message("user", "in the fork "+Leak(2)))
	Merge(t, x, join.Options{})
	y := Fork(t, m, "y", "")
	Append(t, y, repo.Message("user", "and there "+Leak(1)))
	Merge(t, y, join.Options{Summary: "tried"})
	Append(t, m, repo.Message("user", "two"))
	Checkpoint(t, m)
	dir := filepath.Join(t.TempDir(), "theirs")
	CopyTree(t, s.Dir(), dir)
	HealthyAtEnd(t, dir)
	theirs = Tape(t, Reopen(t, dir), "main")
	Purge(t, theirs, o)
	return m, theirs, FetchFrom(t, m, theirs)
}

// FetchFrom fetches the tape main of another workspace, and returns its head.
func FetchFrom(t testing.TB, m, theirs *repo.Tape) gitstore.Hash {
	t.Helper()
	Git(t, m.Store().Dir(), "fetch", "-q", "--no-tags", theirs.Store().Dir(), "+refs/heads/tape/main:refs/tape/remotes/o/heads/tape/main")
	h, err := Inner(m.Store()).Git().Ref("refs/tape/remotes/o/heads/tape/main")
	Must(t, err)
	return h
}

// ForgedHistory rewrites the line that ends at tip: it calls change for each commit, the
// oldest first with n = 0. It returns the new tip.
func ForgedHistory(t *testing.T, s *repo.Store, tip gitstore.Hash, change func(n int, c *gitstore.Commit)) gitstore.Hash {
	t.Helper()
	chain, err := lineage.FirstParents(t.Context(), Inner(s), tip)
	Must(t, err)
	batch := Inner(s).Git().NewBatch()
	var last gitstore.Hash
	for n := range chain {
		c, err := Inner(s).Git().Commit(chain[len(chain)-1-n])
		Must(t, err)
		if n > 0 {
			c.Parents[0] = last
		}
		change(n, &c)
		last = batch.Put(gitstore.KindCommit, gitstore.EncodeCommit(c))
	}
	Must(t, batch.Flush(t.Context()))
	return last
}

// IsPurging reports whether a purge was begun and has not ended.
func IsPurging(t *testing.T, s *repo.Store) bool {
	t.Helper()
	is, err := purge.IsPurging(Inner(s))
	Must(t, err)
	return is
}
