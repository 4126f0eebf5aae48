package formattest

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// parentJSON returns a parent's uuid as JSON, null for "".
func parentJSON(uuid string) string {
	if uuid == "" {
		return "null"
	}
	return `"` + uuid + `"`
}

// ClaudeLine makes a line of Claude Code. rest has the fields besides the envelope.
func ClaudeLine(uuid, parent, rest string) string {
	return fmt.Sprintf(`{"parentUuid":%s,"isSidechain":false,"cwd":"/w","sessionId":"s-1","version":"2.1.1",%s,"uuid":"%s","timestamp":"2026-03-01T10:00:00.5Z"}`, parentJSON(parent), rest, uuid)
}

// ClaudeUser makes a user line: a message or results.
func ClaudeUser(uuid, parent, content string) string {
	return ClaudeLine(uuid, parent, `"type":"user","message":{"role":"user","content":`+content+`}`)
}

// ClaudeAnswer makes a line with a block of an answer.
func ClaudeAnswer(uuid, parent, msg, block string) string {
	return ClaudeLine(uuid, parent, `"type":"assistant","message":{"id":"`+msg+`","role":"assistant","model":"m","content":[`+block+`],"usage":{"output_tokens":`+fmt.Sprint(len(uuid))+`}},"requestId":"q"`)
}

// session makes random Claude Code transcripts.
type session struct {
	rng   *rand.Rand
	lines []string
	n     int
	last  string
}

func (s *session) id(kind string) string {
	s.n++
	return fmt.Sprintf("%s-%04d", kind, s.n)
}

func (s *session) add(parent, uuid, rest string) {
	s.lines = append(s.lines, fmt.Sprintf(
		`{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":"/w/%d","sessionId":"s-1","version":"2.1.%d","gitBranch":"main",%s,"uuid":"%s","timestamp":"2026-03-01T10:%02d:%02d.%03dZ"}`,
		parentJSON(parent), s.rng.IntN(60)/59, s.rng.IntN(80)/79, rest, uuid, s.n/60%60, s.n%60, s.n%1000))
	s.last = uuid
}

func (s *session) prompt() {
	s.add(s.last, s.id("u"), fmt.Sprintf(`"type":"user","message":{"role":"user","content":"ask %d 请看"},"permissionMode":"default"`, s.n))
}

func (s *session) answer() {
	msg := s.id("msg")
	var ids []string
	blocks := 1 + s.rng.IntN(5)
	for b := range blocks {
		var block string
		switch s.rng.IntN(4) {
		case 0:
			block = fmt.Sprintf(`{"type":"thinking","thinking":"think %s %d","signature":"sig"}`, msg, b)
		case 1:
			block = fmt.Sprintf(`{"type":"text","text":"say %s %d"}`, msg, b)
		default:
			id := s.id("toolu")
			ids = append(ids, id+" "+s.last)
			command := "run"
			if s.n%3 == 0 {
				command = "git commit -m"
			}
			block = fmt.Sprintf(`{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"%s %s"}}`, id, command, id)
		}
		u := s.id("a")
		if len(ids) > 0 && strings.Contains(block, "tool_use") {
			ids[len(ids)-1] = strings.Fields(ids[len(ids)-1])[0] + " " + u
		}
		s.add(s.last, u, fmt.Sprintf(`"type":"assistant","requestId":"req_%s","message":{"model":"m-1","id":"%s","type":"message","role":"assistant","content":[%s],"stop_reason":null,"usage":{"input_tokens":3,"output_tokens":%d}}`, msg, msg, block, b+1))
		if len(ids) > 0 && s.rng.IntN(4) == 0 {
			s.progress()
			s.result(&ids, 0)
		}
	}
	for len(ids) > 0 && s.rng.IntN(12) > 0 {
		s.result(&ids, s.rng.IntN(len(ids)))
	}
}

func (s *session) result(ids *[]string, i int) {
	f := strings.Fields((*ids)[i])
	*ids = append((*ids)[:i:i], (*ids)[i+1:]...)
	s.add(f[1], s.id("r"), fmt.Sprintf(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"[main %07x] out of %s\n 1 file changed","is_error":%v}]},"toolUseResult":{"stdout":"[main %07x] out of %s\n 1 file changed","durationMs":%d},"sourceToolAssistantUUID":"%s"`,
		f[0], s.n-1, f[0], s.rng.IntN(5) == 0, s.n-1, f[0], s.n, f[1]))
}

func (s *session) progress() {
	s.add(s.last, s.id("p"), fmt.Sprintf(`"type":"progress","data":{"type":"bash_progress","output":"tick %d"},"toolUseID":"x"`, s.n))
}

func (s *session) relayed(agent string) {
	u := s.id("in")
	s.add(s.last, s.id("p"), fmt.Sprintf(`"type":"progress","data":{"message":{"type":"user","message":{"role":"user","content":"do %s"},"uuid":"%s","timestamp":"2026-03-01T11:00:00Z"},"normalizedMessages":[],"type":"agent_progress","prompt":"do %s","agentId":"%s"},"parentToolUseID":"toolu_p"`, u, u, u, agent))
}

// Claude makes a random transcript of Claude Code with a number of steps.
func Claude(seed uint64, steps int) []string {
	s := &session{rng: rand.New(rand.NewPCG(seed, 7))}
	var prompts []string
	for range steps {
		switch s.rng.IntN(12) {
		case 0:
			s.prompt()
			prompts = append(prompts, s.last)
		case 1:
			if len(prompts) > 1 { // the user goes back
				s.last = prompts[s.rng.IntN(len(prompts))]
			}
			s.prompt()
		case 2:
			s.progress()
		case 3:
			s.relayed(fmt.Sprintf("a%d", s.rng.IntN(2)))
		case 4:
			s.lines = append(s.lines, fmt.Sprintf(`{"type":"file-history-snapshot","messageId":"m%d","snapshot":{"n":%d},"isSnapshotUpdate":false}`, s.rng.IntN(2), s.rng.IntN(2)))
		case 5:
			if s.rng.IntN(3) == 0 {
				u := s.id("c")
				s.add(s.last, u, `"type":"system","subtype":"compact_boundary","content":"Conversation compacted","compactMetadata":{"trigger":"auto","preTokens":9}`)
				s.add(u, s.id("d"), `"type":"user","isCompactSummary":true,"message":{"role":"user","content":"so far"}`)
			}
		case 6:
			if len(s.lines) > 0 { // a session that was resumed repeats lines
				s.lines = append(s.lines, s.lines[s.rng.IntN(len(s.lines))])
			}
		default:
			s.answer()
		}
	}
	return s.lines
}

// ClaudeTask makes a call that starts a subagent.
func ClaudeTask(id, prompt string) string {
	return `{"type":"tool_use","id":"` + id + `","name":"Task","input":{"subagent_type":"Explore","prompt":"` + prompt + `"}}`
}

// ClaudeRelay makes a line of progress that relays a message of a subagent.
func ClaudeRelay(uuid, parent, agent, call, inner string) string {
	return ClaudeLine(uuid, parent, `"type":"progress","data":{"message":`+inner+`,"normalizedMessages":[],"type":"agent_progress","agentId":"`+agent+`"},"parentToolUseID":"`+call+`"`)
}

// ClaudeSaid makes a line of progress that relays a short message of a subagent.
func ClaudeSaid(uuid, agent, call string) string {
	return ClaudeRelay(uuid, "u1", agent, call, `{"type":"user","message":{"role":"user","content":"`+uuid+`"},"uuid":"in-`+uuid+`","timestamp":"2026-03-01T10:00:01Z"}`)
}

// ClaudeSide turns a line into one of a side chain.
func ClaudeSide(agent, l string) string {
	if agent != "" {
		agent = `,"agentId":"` + agent + `"`
	}
	return strings.Replace(l, `"isSidechain":false`, `"isSidechain":true`+agent, 1)
}

// ClaudeDone makes a line with the result of a call that started a subagent.
func ClaudeDone(uuid, parent, call, agent, status string) string {
	return ClaudeLine(uuid, parent, `"type":"user","message":{"role":"user","content":`+ClaudeResult(call, `"ok `+call+`"`)+`},"toolUseResult":{"status":"`+status+`","agentId":"`+agent+`"}`)
}

// ClaudeResult makes a message's content with the result of a call.
func ClaudeResult(id, content string) string {
	return `[{"tool_use_id":"` + id + `","type":"tool_result","content":` + content + `}]`
}
