package outgoing

import (
	"bytes"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/workspace"
	"tape/internal/text/jsonl"
	"tape/internal/text/secrets"

	"golang.org/x/sync/errgroup"
)

// SecretFinding is a secret in what would be pushed.
type SecretFinding struct {
	Tape   string // a secret in its name is masked
	named  bool   // it was
	Entry  int64  // 0 if it is in the message of a commit or tag, or in a file that is not a tape's
	Commit string // the oldest commit read that has it; for a tag's message, the tag object
	Rule   string
	// Path is the place in the entry, or the file; "message" for the message of Commit.
	Path        string
	Masked      string // an excerpt that is safe to show
	Fingerprint string
}

// SecretsError stops a push that would have sent secrets.
type SecretsError struct {
	Findings []SecretFinding
	Clean    string // a tape without secrets that would have been pushed, too; "" if there is none
}

func (e *SecretsError) Error() string {
	if len(e.Findings) == 0 {
		return "what looks like a secret was found"
	}
	f := e.Findings[0]
	more := ""
	if n := len(e.Findings) - 1; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return fmt.Sprintf("%s has what looks like a secret (%s): %s%s", f.where(), f.Rule, f.Masked, more)
}

func (f SecretFinding) where() string {
	if f.Entry > 0 {
		return fmt.Sprintf("entry @%d of tape %q", f.Entry, f.Tape)
	}
	return fmt.Sprintf("%s of commit %.12s of tape %q", f.Path, f.Commit, f.Tape)
}

// Is makes every SecretsError an ErrConflict.
func (e *SecretsError) Is(target error) bool { return target == layout.ErrConflict }

// Hints returns what to do about the first finding. The hint does not give the entry's number, because the
// secret was found in a commit, and another entry may have that number by now.
func (e *SecretsError) Hints() []layout.Hint {
	if len(e.Findings) == 0 {
		return nil
	}
	f := e.Findings[0]
	if f.named {
		return []layout.Hint{{Kind: layout.SecretName, Args: []string{f.Fingerprint}}}
	}
	return []layout.Hint{{Kind: layout.PurgeOrAllow, Args: []string{f.Fingerprint, f.Tape, e.Clean}}}
}

// SecretScan searches what would be pushed for secrets. It reads everything once: what a fork shares with
// its tape is reported for the tape.
type SecretScan struct {
	s     *workspace.Store
	known map[gitstore.Hash]bool // commits and tags that the remote is known to have
	open  []gitstore.Hash        // those of known whose ancestors are not in known yet
	seen  map[gitstore.Hash]bool // commits and tags that were searched
	Allow []string               // fingerprints allowed in addition to those of the settings
	Long  []LongEntry            // entries over the default size limit
}

// LongEntry is an entry whose line is longer than other workspaces accept by default.
type LongEntry struct {
	Tape  string
	Entry int64
	Size  int
}

func (l LongEntry) String() string {
	return fmt.Sprintf("entry @%d of %q has %d bytes: other workspaces accept it only if their max_line is at least that (default %d)",
		l.Entry, l.Tape, l.Size, jsonl.DefaultMaxLine)
}

// NewSecretScan returns a scan for a remote that has nothing; see AddKnown.
func NewSecretScan(s *workspace.Store) *SecretScan {
	return &SecretScan{s: s, known: map[gitstore.Hash]bool{}, seen: map[gitstore.Hash]bool{}}
}

// AddKnown records that the remote has these commits or tags and their ancestors. They need not be here.
func (c *SecretScan) AddKnown(list ...gitstore.Hash) {
	for _, h := range list {
		if !h.IsZero() && !c.known[h] {
			c.known[h] = true
			c.open = append(c.open, h)
		}
	}
}

// Search searches everything reachable from tips that is neither known nor searched yet: the lines that
// files gained over the same file in the first parent, and the messages of commits and tags. A secret
// is reported once for each entry, and for a message only if no entry has it. Allowed fingerprints are
// skipped. If anything cannot be read, that is an error.
func (c *SecretScan) Search(ctx context.Context, tape string, tips []gitstore.Hash) ([]SecretFinding, error) {
	o := &outgoing{SecretScan: c, trees: map[[2]gitstore.Hash]bool{}, blobs: map[gitstore.Hash]int{}, jobs: make(chan scanJob, 2*runtime.GOMAXPROCS(0))}
	scanner := c.s.Config().Scanner()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(o.jobs)
		return o.read(ctx, tips)
	})
	found := make([][]scanned, runtime.GOMAXPROCS(0))
	long := make([][]LongEntry, len(found))
	for i := range found {
		group.Go(func() error {
			for job := range o.jobs {
				found[i] = append(found[i], job.scan(scanner)...)
				long[i] = append(long[i], job.long(tape)...)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, layout.Classify(err)
	}
	c.Long = append(c.Long, slices.Concat(long...)...)
	return c.secretsOf(tape, slices.Concat(found...)), nil
}

// secretsOf sorts the findings, and removes allowed ones and duplicates.
func (c *SecretScan) secretsOf(tape string, all []scanned) []SecretFinding {
	slices.SortStableFunc(all, func(a, b scanned) int {
		switch {
		case a.message == b.message:
			return a.job - b.job
		case a.message:
			return 1
		}
		return -1
	})
	type place struct {
		entry              int64
		where, fingerprint string
	}
	seen := map[place]bool{}
	inEntry := map[string]bool{}
	name, _ := jsonl.String(first(c.s.Config().Scanner().Mask(jsonl.AppendString(nil, tape), c.s.Allows)))
	var out []SecretFinding
	for _, f := range all {
		at := place{f.entry, "", f.Fingerprint}
		if f.entry == 0 {
			at.where = f.Path
		}
		if seen[at] || c.s.Allows(f.Finding) || slices.Contains(c.Allow, f.Fingerprint) || f.message && inEntry[f.Fingerprint] {
			continue
		}
		seen[at] = true
		inEntry[f.Fingerprint] = inEntry[f.Fingerprint] || f.entry > 0
		out = append(out, SecretFinding{Tape: name, named: name != tape, Entry: f.entry, Commit: f.commit.String(), Rule: f.Rule, Path: f.Path, Masked: f.Masked, Fingerprint: f.Fingerprint})
	}
	return out
}

func first(value []byte, _ []secrets.Finding) []byte { return value }

type scanJob struct {
	number  int // in the order of commits, the oldest first
	commit  gitstore.Hash
	file    string // the path of the text's file
	message bool   // text is from a commit or tag object
	text    []byte
	lines   bool   // text consists of lines of entries
	before  []byte // the former content, unless the file only grew; its secrets are not reported
}

type scanned struct {
	secrets.Finding
	job     int
	commit  gitstore.Hash
	entry   int64
	message bool
}

// long finds entries that are longer than other workspaces accept by default.
func (j *scanJob) long(tape string) (out []LongEntry) {
	if !j.lines || len(j.text) <= jsonl.DefaultMaxLine {
		return nil
	}
	for line := range bytes.Lines(j.text) {
		if size := len(bytes.TrimRight(line, "\r\n")); size > jsonl.DefaultMaxLine {
			id, _ := jsonl.ParseID(line) // 0 if it is not an entry
			out = append(out, LongEntry{Tape: tape, Entry: id, Size: size})
		}
	}
	return out
}

func (j *scanJob) scan(scanner *secrets.Scanner) []scanned {
	out := j.search(scanner, j.text)
	if len(out) == 0 || j.before == nil {
		return out
	}
	had := map[string]bool{}
	for _, f := range j.search(scanner, j.before) {
		had[f.Fingerprint] = true
	}
	return slices.DeleteFunc(out, func(f scanned) bool { return had[f.Fingerprint] })
}

func (j *scanJob) search(scanner *secrets.Scanner, text []byte) (out []scanned) {
	add := func(found []secrets.Finding, entry int64) {
		for _, f := range found {
			if entry == 0 {
				f.Path = j.file
			}
			out = append(out, scanned{Finding: f, job: j.number, commit: j.commit, entry: entry, message: j.message})
		}
	}
	if !j.lines {
		add(scanner.Text(text), 0)
		return out
	}
	for line := range bytes.Lines(text) {
		line = bytes.TrimRight(line, "\r\n")
		found, err := scanner.Line(line)
		if err != nil {
			// Not an entry, but it would be pushed, too.
			add(scanner.Text(line), 0)
			add(scanner.Text(jsonl.AppendDecoded(nil, line)), 0)
			continue
		}
		if len(found) > 0 {
			id, _ := jsonl.ParseID(line) // 0 if it is not an entry
			add(found, id)
		}
	}
	return out
}

func isEntryFile(path string) bool {
	folder, name, ok := strings.Cut(strings.TrimPrefix(path, layout.AnchorsDir+"/"), "/")
	if !ok || !strings.HasPrefix(path, layout.AnchorsDir+"/") {
		return false
	}
	_, _, isSegment := layout.ParseSegment(name)
	_, _, isPhase := layout.ParseFolder(folder)
	return isPhase && (isSegment || name == layout.AnchorFile)
}
