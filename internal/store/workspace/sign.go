package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"tape/internal/git/gitconfig"
	"tape/internal/store/layout"
)

// How long a program may take for a signature. It may wait for a passphrase or a finger, but nobody may be there.
const (
	signWait       = 2 * time.Second
	signWaitAlways = 30 * time.Second // also where somebody is at a terminal
)

// unsignedFor is how long processes that nobody attends do not try again: each attempt may ask for a passphrase.
const unsignedFor = 10 * time.Minute

// unsignedFile is there since the last attempt that failed.
const unsignedFile = "unsigned"

// SignCommit returns a raw commit, signed if git's configuration says so. What happens if the signature does not come is
// the setting sign: by default, this commit and the later ones of this process are unsigned, and a warning says why.
func (s *Store) SignCommit(ctx context.Context, raw []byte) ([]byte, error) {
	return s.sign(ctx, raw, (*gitconfig.Signer).Commits, (*gitconfig.Signer).SignCommit)
}

// SignTag is SignCommit for a raw tag.
func (s *Store) SignTag(ctx context.Context, raw []byte) ([]byte, error) {
	return s.sign(ctx, raw, (*gitconfig.Signer).Tags, (*gitconfig.Signer).SignTag)
}

func (s *Store) sign(ctx context.Context, raw []byte, wanted func(*gitconfig.Signer) bool, sign func(*gitconfig.Signer, context.Context, []byte) ([]byte, error)) ([]byte, error) {
	signer, err := s.git.Config().Signer()
	if err == nil && !wanted(signer) {
		return raw, nil
	}
	how, settingErr := s.Setting("sign")
	if settingErr != nil {
		return nil, settingErr
	}
	always := how == "always"
	if how == "never" || s.unsigned.Load() && !always {
		return raw, nil
	}
	wait := s.signWait
	if always {
		wait = signWaitAlways
	}
	if st, statErr := os.Stat(s.PrivatePath(unsignedFile)); err == nil && statErr == nil && wait == signWait && time.Since(st.ModTime()) < unsignedFor {
		err = errors.New("the last attempt failed " + time.Since(st.ModTime()).Round(time.Second).String() + " ago")
	}
	var signed []byte
	if err == nil {
		if wait > 2*signWait {
			said := time.AfterFunc(2*signWait, func() { s.warn("waiting for " + signer.Program() + " to sign; it may ask for a passphrase") })
			defer said.Stop()
		}
		limited, cancel := context.WithTimeout(ctx, wait)
		defer cancel()
		if signed, err = sign(signer, limited, raw); err == nil {
			return signed, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		if errors.Is(err, context.DeadlineExceeded) {
			err = fmt.Errorf("%s has not signed within %v; it may wait for a passphrase", signer.Program(), wait)
		}
	}
	if always {
		return nil, &layout.Error{Class: err, Cause: err, Msg: err.Error(), Way: layout.Words("nothing is committed, because the setting sign is always; with auto, it is committed without a signature")}
	}
	s.unsigned.Store(true)
	_ = s.fs.WriteFile(s.PrivatePath(unsignedFile), nil) // only saves another attempt
	s.warn("not signed: " + err.Error() + "; the setting sign (auto, always, never) says whether to sign")
	return raw, nil
}
