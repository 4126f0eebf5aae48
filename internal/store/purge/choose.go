package purge

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"tape/internal/git/gitstore"
	"tape/internal/store/layout"
	"tape/internal/store/rewrite"
	"tape/internal/store/snapshot"
	"tape/internal/text/secrets"
)

// choose decides what is masked.
func (p *purge) choose(ctx context.Context) error {
	rules, prints := p.o.Rules, p.prints
	for _, fp := range p.o.Fingerprints {
		prints[fp] = true
	}
	allowed, _ := p.s.Setting("allow_secret") // findings that somebody allowed
	p.mask.Match = func(f secrets.Finding) bool {
		return prints[f.Fingerprint] || slices.Contains(rules, f.Rule) || slices.Contains(rules, AllRules) && !strings.Contains(allowed, f.Fingerprint)
	}
	switch {
	case p.follow != nil:
		return p.follow.Choose(ctx, p.s, p.mask)
	case p.interrupted != nil:
		for _, fp := range p.interrupted.prints {
			prints[fp] = true
		}
		return p.resumeWhole(ctx)
	}
	for _, id := range p.o.IDs {
		e, err := snapshot.Entry(ctx, p.t, id)
		if err != nil {
			return err
		}
		found := p.o.Find.Secrets(e.Raw, nil)
		if p.o.Whole {
			p.mask.RedactWhole(e)
		} else if len(found) == 0 && !bytes.Contains(e.Payload, []byte("[redacted")) { // unless it was purged before
			return layout.NotFound("", "no known secret is in @%d of %q", id, p.t.Name()).Try(layout.PurgeWhole)
		}
		for _, secret := range found {
			prints[secret.Fingerprint], p.mask.Texts[secret] = true, true
		}
	}
	return nil
}

// resumeWhole searches the histories that an interrupted purge replaces for the entries that it masks whole.
func (p *purge) resumeWhole(ctx context.Context) error {
	if len(p.interrupted.whole) == 0 {
		return nil
	}
	for _, pair := range p.interrupted.pairs {
		if _, err := p.s.Git().Commit(pair[0]); errors.Is(err, gitstore.ErrNotFound) {
			continue // dropped by now
		}
		v, err := snapshot.AtCommit(p.s, pair[0])
		if err != nil {
			return err
		}
		for e, err := range v.After(ctx, nil, "") {
			if err != nil {
				return err
			}
			p.mask.RedactWholeIn(p.interrupted.whole, e)
		}
	}
	return nil
}

// learn finds the texts of what is masked. It reads the whole history once before rewriting it, because
// a secret may occur undetected before the place where the scanner detects it. The secrets of named
// entries are known already.
func (p *purge) learn(ctx context.Context) error {
	p.mask.Learning = true
	if len(p.o.Rules)+len(p.o.Fingerprints) > 0 || p.follow != nil || p.interrupted != nil {
		r := rewrite.NewRewriter(p.s, p.mask, gitstore.HashObject)
		if err := p.ownHistory(ctx, r); err != nil {
			return err
		}
		for _, ref := range p.heads.tags {
			if tag, err := p.s.Git().Tag(ref.Hash); err == nil {
				p.mask.Text(tag.Message)
			}
		}
		for _, t := range p.members {
			if _, err := p.uncommittedIDs(ctx, t); err != nil {
				return err
			}
		}
	}
	p.mask.StopLearning()
	return nil
}

// masksTag reports whether the message of a tag must be masked although its commit stays.
func (p *purge) masksTag(ref keptRef) bool {
	tag, err := p.s.Git().Tag(ref.Hash)
	return err == nil && p.family[ref.commit] && !p.r.Changed(ref.commit) && p.mask.Text(tag.Message) != tag.Message
}
