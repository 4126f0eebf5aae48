package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tape/hooks"
	"tape/internal/store/setting"
)

// The modes.
const (
	ModeAsk  = "ask"  // all calls need an answer, except those that only read in the project
	ModePlan = "plan" // only such reading is allowed; fetching a page needs an answer
	ModeAuto = "auto" // nothing needs an answer, except what a rule wants to be asked about
)

// Options of a gate.
type Options struct {
	Mode    string // "" is ModeAsk
	Project string // the project's root
	// Allow, Deny and Ask are the user's rules, as in the settings. Deny wins over Ask, and Ask over Allow.
	Allow, Deny, Ask []string
	// Remember keeps rules for the project in the user's settings; nil: they are forgotten when the program ends.
	Remember func(rules []string) error
}

// Gate is asked before each call of a tool. Its methods may be called from several goroutines.
type Gate struct {
	o         Options
	deny, ask []rule
	asking    chan struct{} // has a token while no question is open

	mu      sync.Mutex
	asker   Asker
	allow   []rule
	session map[string][]rule
	exact   map[string]bool // single calls that a person has allowed, by callKey
}

// New returns a gate.
func New(o Options) (*Gate, error) {
	g := &Gate{o: o, asking: make(chan struct{}, 1), session: map[string][]rule{}, exact: map[string]bool{}}
	g.asking <- struct{}{}
	if o.Mode == "" {
		g.o.Mode = ModeAsk
	}
	if _, err := setting.Value("mode", g.o.Mode); err != nil {
		return nil, err
	}
	var errs [3]error
	g.allow, errs[0] = parseRules(o.Allow, o.Project)
	g.deny, errs[1] = parseRules(o.Deny, o.Project)
	g.ask, errs[2] = parseRules(o.Ask, o.Project)
	return g, errors.Join(errs[:]...)
}

// Mode returns the gate's mode.
func (g *Gate) Mode() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.o.Mode
}

// NextMode changes the mode to the next one of ask, plan and auto, until the program ends. about says in a
// few words what the new mode is.
func (g *Gate) NextMode() (mode, about string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch g.o.Mode {
	case ModeAsk:
		g.o.Mode, about = ModePlan, "only reading"
	case ModePlan:
		g.o.Mode, about = ModeAuto, "nothing is asked"
	default:
		g.o.Mode, about = ModeAsk, "commands and changes are asked about"
	}
	return g.o.Mode, about
}

// SetAsker gives the gate somebody to ask; nil is nobody.
func (g *Gate) SetAsker(a Asker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.asker = a
}

// Call is a call of a tool.
type Call struct {
	Session, Tool string
	Arguments     json.RawMessage
	Reads         bool // it only reads, in the project or the session
	Typed         bool // a person has typed it as a command, and so need not be asked
	Preview       hooks.Preview
	Project       string // the root of the files of Preview; set by Check
}

// Check returns nil if the call may be made, and otherwise why not. Errors: [hooks.ErrUnanswered] if it needs an
// answer and there is nobody to ask.
func (g *Gate) Check(ctx context.Context, c Call) error {
	c.Project = g.o.Project
	line := parse(c.Preview.Command)
	ask, err := g.mustAsk(c, line)
	if err != nil || !ask {
		return err
	}
	select { // one question at a time
	case <-g.asking:
		defer func() { g.asking <- struct{}{} }()
	case <-ctx.Done():
		return ctx.Err()
	}
	// The answer to the previous question may have allowed this call, too.
	if ask, err = g.mustAsk(c, line); err != nil || !ask {
		return err
	}
	return g.question(ctx, c, line)
}

// mustAsk reports whether the user has to be asked about a call. An error says why it is refused without
// asking.
func (g *Gate) mustAsk(c Call, line commandLine) (ask bool, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	applies := func(r rule) bool { return r.reaches(c, line) == yes }
	mayApply := func(r rule) bool { return r.reaches(c, line) != no }
	if i := slices.IndexFunc(g.deny, applies); i >= 0 {
		return false, fmt.Errorf("denied by the user's rule %s", g.deny[i])
	}
	switch {
	case c.Typed:
		return false, nil
	case g.o.Mode == ModePlan && !c.Reads && c.Preview.Host == "":
		return false, fmt.Errorf("refused: in the mode %s, nothing is changed and no command is run; say what you would do", ModePlan)
	case g.exact[callKey(c)]:
		return false, nil
	case slices.ContainsFunc(g.ask, mayApply) || slices.ContainsFunc(g.deny, mayApply):
		return true, nil
	case c.Reads || g.o.Mode == ModeAuto || allows(slices.Concat(g.allow, g.session[c.Session]), g.o.Project, c, line):
		return false, nil
	}
	return true, nil
}

// callKey names a call with its session and arguments.
func callKey(c Call) string {
	return strings.Join([]string{c.Session, c.Tool, string(c.Arguments)}, "\x00")
}

// question asks a person.
func (g *Gate) question(ctx context.Context, c Call, line commandLine) error {
	g.mu.Lock()
	asker, have := g.asker, slices.Concat(g.allow, g.session[c.Session])
	g.mu.Unlock()
	rules, shown := rulesFor(have, g.o.Project, c, line)
	if asker == nil {
		return g.unanswered(c, rules)
	}
	r := Request{Session: c.Session, Tool: c.Tool, Title: title(c), Command: c.Preview.Command, Path: c.Preview.Path, Diff: c.Preview.Diff, Rule: shown}
	if r.Command == "" && r.Diff == "" {
		r.Command = indented(c.Arguments)
	}
	answer, err := asker.Ask(ctx, r)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("refused: the question could not be asked: %w", err)
	}
	switch answer.Decision {
	case Once:
		return nil
	case Session:
		return g.remember(c, rules, false)
	case Always:
		return g.remember(c, rules, true)
	case Deny:
		if answer.Message != "" {
			return fmt.Errorf("refused by the user, who says: %s", answer.Message)
		}
	}
	return errors.New(Refusal)
}

// remember allows this very call for the session, and the calls that the rules cover: also for the session,
// or if always is set, in the project from now on.
func (g *Gate) remember(c Call, texts []string, always bool) error {
	rules, err := parseRules(texts, g.o.Project)
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	always = always && len(rules) > 0
	if always && g.o.Remember != nil {
		if err := g.o.Remember(texts); err != nil {
			return fmt.Errorf("refused: the answer \"always\" could not be kept: %w", err)
		}
	}
	// The rules alone may not be enough: rules that ask win over rules that allow.
	g.exact[callKey(c)] = true
	if always {
		g.allow = append(g.allow, rules...)
	} else {
		g.session[c.Session] = append(g.session[c.Session], rules...)
	}
	return nil
}

// unanswered says that there is nobody to ask, and what would help.
func (g *Gate) unanswered(c Call, rules []string) error {
	way := "--mode auto or TAPE_MODE=auto allows everything"
	if g.Mode() == ModeAuto || c.Reads {
		way, rules = "one of your rules wants you to be asked", nil
	}
	if list, err := setting.AddRules("", rules); len(rules) > 0 && err == nil {
		way += fmt.Sprintf(", and the rule %s in the setting allow allows this", list)
	}
	what := c.Tool
	if c.Preview.Command != "" {
		what += " " + clipped(c.Preview.Command)
	} else if c.Preview.Path != "" {
		what += " " + c.Preview.Path
	}
	return fmt.Errorf("%w: %s needs the user's consent, and there is no terminal to ask on (%s)", hooks.ErrUnanswered, what, way)
}

const shownOfCommand = 200

func clipped(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > shownOfCommand {
		return strings.ToValidUTF8(text[:shownOfCommand], "") + "…"
	}
	return text
}

func title(c Call) string {
	p := c.Preview
	switch {
	case p.Title != "":
		return p.Title
	case p.Command != "":
		return "run a command"
	}
	return "call " + c.Tool
}

func indented(raw json.RawMessage) string {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return string(raw)
	}
	return out.String()
}
