package repo

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"tape/internal/secrets"
)

// FinishPurge carries out a purge that was cut off after it had written its journal, of
// whatever tape it is; without one it does nothing. Half of the refs may have moved, so
// whoever compares the history with another one calls this first. What was recorded since
// then is purged of the same. Derived is that of PurgeOptions, nil if nothing is derived.
// What could not be cleared is told by Options.Warn.
//
// Errors: ErrBusy; ErrConflict when git is in the middle of something; ErrCorrupt for a
// journal that cannot be read.
func (s *Store) FinishPurge(ctx context.Context, derived func(ctx context.Context) error) error {
	if _, err := os.Lstat(s.journalPath()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := s.lockPurge(ctx)
	if err != nil {
		return fmt.Errorf("finish a purge: %w", err)
	}
	j, err := s.purgeJournal()
	if err == nil && j != nil {
		err = s.finishPurge(ctx, j, PurgeOptions{Derived: derived})
	}
	if err := errors.Join(err, unlock()); err != nil {
		return fmt.Errorf("finish a purge: %w", classify(err))
	}
	return nil
}

// lockPurge lets one purge in at a time: there is one journal.
func (s *Store) lockPurge(ctx context.Context) (unlock func() error, err error) {
	return s.lockPrivate(ctx, "purge.lock")
}

// purgeJournal reads what a purge that was cut off had decided. Nil if there is none.
func (s *Store) purgeJournal() (*purgeJournal, error) {
	raw, err := os.ReadFile(s.journalPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there is none
	}
	if err != nil {
		return nil, err
	}
	j, err := decodePurgeJournal(raw)
	if err != nil {
		return nil, &CorruptError{File: s.journalPath(), Msg: "the journal of a purge cannot be read: " + err.Error(), Fix: "remove it, and purge again"}
	}
	return j, nil
}

// finishPurge does what a journal says for the tape that it is of. Of the options it takes
// what does not say what is purged.
func (s *Store) finishPurge(ctx context.Context, j *purgeJournal, o PurgeOptions) error {
	p := &purge{ctx: ctx, s: s, t: s.handle(j.tape), prints: map[string]bool{},
		o: PurgeOptions{Derived: o.Derived, Step: o.Step, find: o.find}}
	p.begin()
	err := p.do(j)
	for _, left := range p.out.Left {
		s.warn(left)
	}
	return err
}

// finishOld carries out a purge of the tape that was cut off.
func (p *purge) finishOld(j *purgeJournal) error {
	p.s.warn("a purge had been cut off; it is carried out now")
	p.out.Finished = true
	for _, fp := range j.prints {
		p.prints[fp] = true
	}
	for _, digest := range j.whole {
		p.mask.whole[digest] = true
	}
	for _, secret := range j.texts {
		p.mask.texts[secret] = true
	}
	for _, text := range j.removed {
		p.mask.removed[text] = true
	}
	p.mask.match = func(f secrets.Finding) bool { return p.prints[f.Fingerprint] }
	p.mask.know()
	if err := p.carryOut(j); err != nil {
		return err
	}
	p.earlier = j.commits
	return nil
}
