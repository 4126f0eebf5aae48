package gitstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Git's protocol, version 0 (gitprotocol-pack(5)), as much of it as a fetch and a push
// need. Both talk once: the other side tells its refs, we ask or send, it answers.

// line is a connection to one service of a remote: upload-pack or receive-pack.
type line interface {
	// refs begins the talk and gives what the remote tells of its refs.
	refs(ctx context.Context, service string) (io.Reader, error)
	// ask sends a request of so many bytes, once refs were read, and gives the answer.
	ask(ctx context.Context, service string, request io.Reader, size int64) (io.Reader, error)
	// close ends the talk, and gives what went wrong that nobody was told yet.
	close() error
}

const (
	uploadPack  = "git-upload-pack"
	receivePack = "git-receive-pack"
)

// Bounds of what a remote may tell of its refs. A million takes a quarter of a gigabyte of
// memory here: twenty times the tags of a workspace that is used a lot.
const (
	maxPacket   = 65520
	maxRefs     = 1_000_000
	maxRefBytes = 256 << 20
)

// packets reads pkt-lines.
type packets struct {
	r   io.Reader
	buf [maxPacket]byte
}

// errFlush says that a flush packet came.
var errFlush = errors.New("flush")

// next returns the content of the next packet, which the one after it overwrites; errFlush
// at a flush packet.
func (p *packets) next() ([]byte, error) {
	var head [4]byte
	if n, err := io.ReadFull(p.r, head[:]); err != nil {
		if n == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		return nil, hungUp(err)
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil || n > maxPacket || n > 0 && n < 4:
		return nil, fmt.Errorf("%w: it does not speak git's protocol: %.40q", ErrRemote, head)
	case n == 0:
		return nil, errFlush
	}
	content := p.buf[:n-4]
	if _, err := io.ReadFull(p.r, content); err != nil {
		return nil, hungUp(err)
	}
	if said, ok := bytes.CutPrefix(content, []byte("ERR ")); ok {
		return nil, fmt.Errorf("%w: it says: %s", ErrRemote, printable(strings.TrimSpace(string(said))))
	}
	return content, nil
}

func hungUp(err error) error {
	if errors.Is(err, ErrRemote) {
		return err // it is known why
	}
	return fmt.Errorf("%w: it hung up: %w", ErrRemote, err)
}

func appendPacket(b []byte, content string) []byte {
	return append(fmt.Appendf(b, "%04x", len(content)+4), content...)
}

func appendFlush(b []byte) []byte { return append(b, "0000"...) }

// advertised is what a remote tells at the beginning.
type advertised struct {
	refs    []Ref
	head    string // the branch that HEAD names
	caps    []string
	shallow bool
}

func (a *advertised) can(capability string) bool { return slices.Contains(a.caps, capability) }

func (a *advertised) hashes() map[string]Hash {
	out := make(map[string]Hash, len(a.refs))
	for _, ref := range a.refs {
		out[ref.Name] = ref.Hash
	}
	return out
}

// readRefs reads what a remote tells of its refs. Names that git would not accept are left
// out: they can neither be fetched nor pushed to.
func readRefs(in io.Reader) (*advertised, error) {
	bounded := &io.LimitedReader{R: in, N: maxRefBytes}
	p, a := &packets{r: bounded}, &advertised{}
	for first := true; ; first = false {
		raw, err := p.next()
		switch {
		case errors.Is(err, errFlush):
			return a, nil
		case bounded.N <= 0:
			return nil, hostile("its list of refs has more than %d bytes", maxRefBytes)
		case errors.Is(err, io.EOF) && first:
			return nil, fmt.Errorf("%w: it answers nothing: there may be no git server", ErrRemote)
		case errors.Is(err, io.EOF):
			return nil, hungUp(io.ErrUnexpectedEOF)
		case err != nil:
			return nil, err
		case len(a.refs) > maxRefs:
			return nil, hostile("it has more than %d refs", maxRefs)
		}
		text := strings.TrimSuffix(string(raw), "\n")
		if strings.HasPrefix(text, "# service=") { // http: then comes a flush
			if _, err := p.next(); !errors.Is(err, errFlush) {
				return nil, fmt.Errorf("%w: it does not speak git's protocol", ErrRemote)
			}
			continue
		}
		if text, caps, ok := strings.Cut(text, "\x00"); ok && len(a.caps) == 0 {
			a.caps = strings.Fields(caps)
			for _, c := range a.caps {
				if head, ok := strings.CutPrefix(c, "symref=HEAD:"); ok {
					a.head = head
				}
			}
			_ = a.add(text) // what is no ref there is none
			continue
		}
		if err := a.add(text); err != nil && !first {
			return nil, err
		}
	}
}

// add takes one line: a ref, or what else there is.
func (a *advertised) add(text string) error {
	digits, name, ok := strings.Cut(text, " ")
	if digits == "shallow" {
		a.shallow = true
		return nil
	}
	if digits == "version" {
		return nil
	}
	h, err := ParseHash(digits)
	if !ok || err != nil {
		return fmt.Errorf("%w: it does not speak git's protocol: %.60q", ErrRemote, text)
	}
	if !h.IsZero() && !strings.HasSuffix(name, "^{}") && CheckRefName(name) == nil {
		a.refs = append(a.refs, Ref{Name: name, Hash: h})
	}
	return nil
}

// agent names the program to the other side.
const agent = "agent=tape"

// sidebands takes the streams of an answer apart: 1 is data, 2 is text for people, and 3
// says why it failed.
type sidebands struct {
	p        packets
	progress io.Writer
	said     []byte // the end of the text
	data     []byte
}

func (s *sidebands) Read(b []byte) (int, error) {
	for len(s.data) == 0 {
		raw, err := s.p.next()
		if errors.Is(err, errFlush) {
			return 0, io.EOF
		}
		if errors.Is(err, io.EOF) {
			return 0, hungUp(io.ErrUnexpectedEOF)
		}
		if err != nil {
			return 0, err
		}
		if len(raw) == 0 {
			continue
		}
		switch raw[0] {
		case 1:
			s.data = raw[1:]
		case 2:
			s.said = append(s.said, raw[1:]...)
			if over := len(s.said) - tailBytes; over > 0 {
				s.said = append(s.said[:0], s.said[over:]...)
			}
			if s.progress != nil {
				_, _ = s.progress.Write(harmless(raw[1:]))
			}
		case 3:
			return 0, fmt.Errorf("%w: it says: %s", ErrRemote, printable(strings.TrimSpace(string(raw[1:]))))
		default:
			// Before the pack it tells, perhaps more than once, what we have in common.
			if text := string(raw); !strings.HasPrefix(text, "ACK ") && !strings.HasPrefix(text, "NAK") {
				return 0, fmt.Errorf("%w: it does not speak git's protocol: %.40q", ErrRemote, raw)
			}
		}
	}
	n := copy(b, s.data)
	s.data = s.data[n:]
	return n, nil
}

// maxHaves bounds the commits that a fetch tells it has.
const maxHaves = 2000

// fetchRequest asks for objects, in one go: what is wanted, what is here.
func fetchRequest(a *advertised, wants, haves []Hash, quiet bool) []byte {
	caps := []string{"side-band-64k"}
	for _, c := range []string{"ofs-delta", "thin-pack"} {
		if a.can(c) {
			caps = append(caps, c)
		}
	}
	if quiet && a.can("no-progress") {
		caps = append(caps, "no-progress")
	}
	caps = append(caps, agent)
	var out []byte
	for i, h := range wants {
		text := "want " + h.String()
		if i == 0 {
			text += " " + strings.Join(caps, " ")
		}
		out = appendPacket(out, text+"\n")
	}
	out = appendFlush(out)
	for _, h := range haves[:min(len(haves), maxHaves)] {
		out = appendPacket(out, "have "+h.String()+"\n")
	}
	return appendPacket(out, "done\n")
}

// pushRequest tells what refs are to become; a pack follows it where anything is new.
func pushRequest(refs []PushRef, there map[string]Hash, atomic bool) []byte {
	caps := " report-status side-band-64k " + agent
	if atomic {
		caps += " atomic"
	}
	var out []byte
	for i, ref := range refs {
		text := there[ref.Name].String() + " " + ref.New.String() + " " + ref.Name
		if i == 0 {
			text += "\x00" + caps
		}
		out = appendPacket(out, text)
	}
	return appendFlush(out)
}

// readReport reads what became of a push: for each ref "" or why it was rejected, and what
// the remote's hooks said.
func readReport(in io.Reader, progress io.Writer) (reasons map[string]string, said string, err error) {
	s := &sidebands{p: packets{r: in}, progress: progress}
	p := &packets{r: s}
	reasons = map[string]string{}
	for {
		raw, err := p.next()
		if errors.Is(err, errFlush) {
			break
		}
		if errors.Is(err, io.EOF) {
			err = hungUp(io.ErrUnexpectedEOF)
		}
		if err != nil {
			return nil, "", err
		}
		text := strings.TrimSuffix(string(raw), "\n")
		verb, rest, _ := strings.Cut(text, " ")
		switch {
		case verb == "unpack" && rest != "ok":
			return nil, "", fmt.Errorf("%w: it could not take the objects: %s%s", ErrRemote, printable(rest), saidSuffix(s.said))
		case verb == "ok":
			reasons[rest] = ""
		case verb == "ng":
			name, why, _ := strings.Cut(rest, " ")
			reasons[name] = printable(why)
		}
	}
	_, _ = io.Copy(io.Discard, s) // what hooks say after the fact
	return reasons, printable(strings.TrimSpace(string(s.said))), nil
}

func saidSuffix(said []byte) string {
	if text := printable(strings.TrimSpace(string(said))); text != "" {
		return ": " + text
	}
	return ""
}
