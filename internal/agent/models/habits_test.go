package models

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tape/hooks"
	"tape/internal/text/jsonl"
	"tape/repo/view"
)

// refusing answers with a refusal as long as refuses says so.
func refusing(t *testing.T, status int, refuses func(body []byte) string) *server {
	var s *server
	s = serve(t, func(w http.ResponseWriter, _ int) {
		if text := refuses(s.body); text != "" {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
			return
		}
		if jsonl.Get(s.body, "system") != nil || strings.Contains(string(s.body), "claude") {
			stream(w, 1<<20, messagesAnswer...)
			return
		}
		if strings.Contains(string(s.body), `"input":`) {
			stream(w, 1<<20, `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"ok"}]}]}}`)
			return
		}
		if strings.Contains(string(s.body), `"stream":false`) {
			_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`)
			return
		}
		stream(w, 1<<20, chatAnswer...)
	})
	return s
}

func has(words string, said string) func(body []byte) string {
	return func(body []byte) string {
		if strings.Contains(string(body), words) {
			return said
		}
		return ""
	}
}

// A request that is refused is made again without what was refused, and so are all later ones.
func TestRefusedRequests(t *testing.T) {
	const picture = `{"role":"user","content":[{"type":"text","text":"what is this"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`
	tools := []hooks.Tool{{Name: "good", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`)},
		{Name: "bad", Schema: json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":["integer","null"]}}}`)}}
	called := []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`}
	for name, c := range map[string]struct {
		model    string
		messages []string
		status   int
		refuses  func(body []byte) string
		want     string // in the request that is answered
		requests int
		notice   string
	}{
		"stream_options": {"openai:x", nil, 422, has("stream_options", `{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`), "", 2, ""},
		// anomalyco/opencode#4698
		"stream_options, in words": {"openai:x", nil, 400, has("stream_options", `{"error_code":"BAD_REQUEST","message":"stream_options is not supported"}`), "", 2, ""},
		"the limit's name":         {"local:x", nil, 400, has(`"max_tokens"`, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","code":"unsupported_parameter"}}`), `"max_completion_tokens":9000`, 2, ""},
		"the other name":           {"openai:x", nil, 422, has("max_completion_tokens", `{"detail":[{"loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted"}]}`), `"max_tokens":9000`, 2, ""},
		"no limit at all":          {"openai:x", nil, 400, has("_tokens\":9000", `{"error":{"message":"unknown field max_tokens or max_completion_tokens"}}`), `"stream":true`, 3, ""},
		"too high a limit":         {"openai:x", nil, 400, has("9000", `{"error":{"message":"max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000."}}`), `"max_completion_tokens":4096`, 2, ""},
		"too high for claude":      {"anthropic:claude", nil, 400, has("9000", `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 9000 > 8192, which is the maximum allowed number of output tokens for claude"}}`), `"max_tokens":8192`, 2, ""},
		"too high for the rest":    {"anthropic:claude", nil, 400, has("9000", `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 195000 + 9000 > 200000, decrease input length or max_tokens and try again"}}`), `"max_tokens":4936`, 2, ""},
		// vllm-project/vllm#6862, microsoft/autogen#3597, charmbracelet/crush#279
		"roles": {"openai:x", []string{`{"role":"assistant","content":"[Anchor created: session/start]: {}"}`, `{"role":"user","content":"a"}`, `{"role":"user","content":"b"}`}, 400,
			has(`"role":"assistant"`, `{"message":"After the optional system message, conversation roles must alternate user and assistant roles except for tool calls and results."}`), `{"content":"[Anchor created: session/start]: {}\n\na\n\nb","role":"user"}`, 2, ""},
		"after a result": {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`, `{"role":"user","content":"b"}`}, 400,
			func(body []byte) string {
				if !strings.Contains(string(body), "I have read the results.") {
					return `{"object":"error","message":"Unexpected role 'user' after role 'tool'","code":"3230"}`
				}
				return ""
			}, `"role":"tool"`, 2, ""},
		"system of o1": {"openai:x", nil, 400, has(`"role":"system"`, `{"error":{"message":"Unsupported value: 'messages[0].role' does not support 'system' with this model."}}`), `"be brief\n\nhi"`, 2, ""},
		"system role":  {"openai:x", nil, 400, has(`"role":"system"`, `{"error":{"message":"System role not supported"}}`), `"be brief\n\nhi"`, 2, ""},
		// anomalyco/opencode#1680
		"long ids": {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"call_1"}`}, 400,
			has("call_1", `{"message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9."}`), `"tool_call_id":"`, 2, ""},
		// openclaw/openclaw#132050, anthropics/claude-code#56016, sipeed/picoclaw#2525
		"pictures":           {"openai:x", []string{picture}, 404, has("image_url", `{"error":{"message":"No endpoints found that support image input","code":404}}`), "a picture or file was here", 2, "takes no pictures"},
		"pictures, mmproj":   {"openai:x", []string{picture}, 500, has("image_url", `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`), "a picture or file was here", 2, "takes no pictures"},
		"pictures, no words": {"openai:x", []string{picture}, 400, has("image_url", `{"error":"bad request"}`), "a picture or file was here", 2, "refuses a picture"},
		"a picture as a result": {"anthropic:claude", []string{`{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}]}`}, 400,
			has("base64", `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.0.tool_result.content.0.image.source.base64: Could not process image"}}`), "a picture or file was here", 2, "refuses a picture"},
		"too large a picture": {"openai:x", []string{picture}, 413, has("image_url", `413 failed to parse request`), "a picture or file was here", 2, "refuses a picture"},
		"foreign thoughts": {"anthropic:claude", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"b"}]}`, `{"role":"user","content":"c"}`}, 400,
			has("thinking", "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.1.content.0: Invalid `signature` in `thinking` block\"}}"), `"text":"b"`, 2, ""},
		"cache_control": {"anthropic:claude", nil, 400, has("cache_control", `{"type":"error","error":{"message":"system.0.cache_control: Extra inputs are not permitted"}}`), "be brief", 2, ""},
		// anomalyco/opencode#39826, zed-industries/zed#44875
		"a schema":        {"openai:x", nil, 400, has("$ref", `{"error":{"message":"Invalid schema for function 'bad': $ref is not supported"}}`), `"type":"integer"`, 2, ""},
		"a schema twice":  {"openai:x", nil, 400, has(`"bad"`, `{"error":{"message":"Invalid schema for function 'bad': In context=('properties', 'a'), it is bad"}}`), `"good"`, 3, "without it"},
		"a schema's name": {"anthropic:claude", nil, 400, has(`"bad"`, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.1.custom.input_schema: JSON schema is invalid"}}`), `"good"`, 3, "without it"},
		"many schemas":    {"openai:x", nil, 400, has("$ref", `[{"error":{"code":400,"message":"Unknown name \"$ref\" at 'tools[0].function_declarations[0].parameters': Cannot find field.\nUnknown name \"$ref\" at 'tools[0].function_declarations[1].parameters'"}}]`), `"bad"`, 2, ""},
		"blank":           {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"","tool_call_id":"a"}`}, 400, has(`"content":""`, `{"message":"messages: text content blocks must be non-empty"}`), "(nothing)", 2, ""},
		"reasoning_content": {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`}, 400,
			func(body []byte) string {
				if !strings.Contains(string(body), "reasoning_content") {
					return `{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"}}`
				}
				return ""
			}, `"reasoning_content":" "`, 2, ""},
		"signature": {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"x","tool_call_id":"a"}`}, 400,
			func(body []byte) string {
				if !strings.Contains(string(body), "thought_signature") {
					return `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts."}}]`
				}
				return ""
			}, "skip_thought_signature_validator", 2, ""},
		"one call at once": {"openai:x", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"good","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"good","arguments":"{}"}}]}`, `{"role":"tool","content":"y","tool_call_id":"b"}`, `{"role":"tool","content":"x","tool_call_id":"a"}`}, 400,
			has(`}},{"id"`, `{"error":{"message":"This model only supports single tool-calls at once!","type":"BadRequestError","code":400}}`), `{"role":"tool","content":"x","tool_call_id":"a"},{"content":""`, 2, ""},
		// ollama/ollama#6027, pydantic/pydantic-ai#703
		"no tools":          {"openai:x", nil, 400, has(`"tools"`, `{"error":{"message":"registry.ollama.ai/library/llama3:8b does not support tools","type":"api_error"}}`), "be brief", 2, "takes no tools"},
		"no tools, a flag":  {"openai:x", nil, 500, has(`"tools"`, `{"error":{"code":500,"message":"tools param requires --jinja flag","type":"server_error"}}`), "be brief", 2, "--jinja"},
		"no tools, earlier": {"openai:x", called, 404, has(`"tool`, `{"error":{"message":"No endpoints found that support tool use","code":404}}`), `[called good with {}]`, 2, "takes no tools"},
		// keinsaasforever/better-chatbot#197
		"too many tools":          {"openai:x", nil, 400, has(`"t6"`, `{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 5, but got an array with length 7 instead.","param":"tools"}}`), `"t4"`, 2, "at most 5 tools"},
		"a description":           {"openai:x", nil, 400, has(strings.Repeat("long ", 210), `{"error":{"message":"Invalid 'tools[1].function.description': string too long. Expected a string with maximum length 1024"}}`), `"long`, 2, ""},
		"streamed tools":          {"openai:x", nil, 400, has(`"stream":true`, `{"message":"This model doesn't support tool use in streaming mode."}`), `"good"`, 2, ""},
		"an empty text":           {"openai:x", called, 400, has(`"content":""`, `{"error":{"message":"messages[1].content: must not be an empty string"}}`), `"content":null`, 2, ""},
		"an empty text in a list": {"openai:x", []string{`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":""}]}`}, 400, has(`"text":""`, `{"error":{"code":"1214","message":"messages[1].content[1].text:不能为空"}}`), `"content":[{"type":"text","text":"a"}]`, 2, ""},
		"numbers of calls": {"openai:x", append(slices.Clone(called), called...), 400, func(body []byte) string {
			if strings.Count(string(body), `"id":"a"`) > 1 {
				return `{"object":"error","message":"Not the same number of function calls and responses","type":"invalid_request_message_order","code":3230}`
			}
			return ""
		}, `"tool_call_id":"a_2"`, 2, ""},
		"streaming, a program": {"openai:x", nil, 501, has(`"stream":true`, `{"error":"Unsupported operation: streaming not implemented"}`), `"stream":false`, 2, ""},
		"neither empty nor null": {"openai:x", called, 422, func(body []byte) string {
			if strings.Contains(string(body), `"content":""`) || strings.Contains(string(body), `"content":null`) {
				return `{"detail":[{"loc":["body","messages",1,"content"],"msg":"Input should be a valid non-empty string"}]}`
			}
			return ""
		}, `"content":"(nothing)"`, 3, ""},
		"a list of texts": {"openai:x", []string{`{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`}, 400, has(`"content":[`, `{"error":{"message":"messages[1].content: invalid type: sequence, expected a string"}}`), `"content":"ab"`, 2, ""},
		// ollama/ollama#14214, langflow-ai/langflow#9437
		"names of results": {"openai:x", called, 400, func(body []byte) string {
			if !strings.Contains(string(body), `"name":"good","role":"tool"`) {
				return `[{"error":{"code":400,"message":"* GenerateContentRequest.contents[2].parts[0].function_response.name: Name cannot be empty."}}]`
			}
			return ""
		}, `"tool_call_id":"a"`, 2, ""},
		"a system prompt in a list": {"anthropic:claude", nil, 400, has(`"system":[`, `{"error":{"message":"system: Input should be a valid string"}}`), `"system":"be brief"`, 2, ""},
		"ids that come again": {"openai:x", append(slices.Clone(called), called...), 400, func(body []byte) string {
			if strings.Count(string(body), `"id":"a"`) > 1 {
				return `{"message":"Duplicate tool call id in assistant messages"}`
			}
			return ""
		}, `"tool_call_id":"a_2"`, 2, ""},
		"and in responses": {"r:x", append(slices.Clone(called), called...), 400, func([]byte) string { return "" }, `"call_id":"a_2","output"`, 1, ""},
		"store":            {"r:x", nil, 400, has(`"store"`, `{"error":{"message":"Unsupported parameter: store"}}`), `"instructions"`, 2, ""},
		"include":          {"r:x", nil, 400, has(`"include"`, `{"error":{"message":"Unknown parameter: 'include'."}}`), `"store"`, 2, ""},
		"strict":           {"r:x", nil, 400, has(`"strict"`, `{"error":{"message":"tools.0.strict: Extra inputs are not permitted"}}`), `"good"`, 2, ""},
		// NousResearch/hermes-agent#36071
		"thoughts modified": {"anthropic:claude", []string{`{"role":"user","content":"a"}`, `{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"text","text":"b"}]}`, `{"role":"user","content":"c"}`}, 400,
			has(`"thinking"`, "{\"type\":\"error\",\"error\":{\"message\":\"messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.\"}}"), `"text":"b"`, 2, ""},
		"too few credits": { // can1357/oh-my-pi#9569
			"local:x", nil, 402, has("9000", `{"error":{"message":"This request requires more credits, or fewer max_tokens. You requested up to 9000 tokens, but can only afford 3000.","code":402}}`), `"max_tokens":3000`, 2, ""},
		"no streaming": {"openai:x", nil, 400, has(`"stream":true`, `{"error":{"message":"Streaming is not supported for this model"}}`), `"stream":false`, 2, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := refusing(t, c.status, c.refuses)
			messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"hi"}`)}
			if c.messages != nil {
				messages = nil
				for _, m := range c.messages {
					messages = append(messages, json.RawMessage(m))
				}
			}
			model := client(t, s, nil, Config{MaxTokens: 9000, APIs: map[string]string{"r": "responses"}, BaseURLs: map[string]string{"local": s.URL, "r": s.URL}})
			tools := slices.Clone(tools)
			if name == "a description" {
				tools[1].Description = strings.Repeat("long ", 300)
			}
			for i := 2; name == "too many tools" && i < 7; i++ {
				tools = append(tools, hooks.Tool{Name: fmt.Sprint("t", i)})
			}
			notices := ""
			for range 2 { // the second request is right at once
				for e, err := range model.Stream(t.Context(), Request{Model: c.model, System: "be brief", Messages: messages, Tools: tools}) {
					if err != nil {
						t.Fatalf("%v; the request: %s", err, s.body)
					}
					if e.Kind == hooks.EventNotice {
						notices += e.Data["text"].(string)
					}
				}
				if !strings.Contains(string(s.body), c.want) {
					t.Errorf("the request lacks %s: %s", c.want, s.body)
				}
			}
			again := c.requests + 1
			if name == "too high for the rest" || name == "too few credits" {
				again = 2 * c.requests // it depends on the messages, or what is left
			}
			if n := int(s.calls.Load()); n != again || c.notice == "" && notices != "" || strings.Count(notices, c.notice) != 1 && c.notice != "" {
				t.Errorf("%d requests, want %d; said: %s", n, again, notices)
			}
		})
	}
}

// What a server refuses is known to the next program, too, for a day; what a person is told is not.
func TestRememberedRefusals(t *testing.T) {
	dir := t.TempDir()
	s := refusing(t, 400, func(body []byte) string {
		for _, words := range []string{"stream_options", "image_url"} {
			if strings.Contains(string(body), words) {
				return `{"error":{"message":"` + words + ` is not supported: no image input"}}`
			}
		}
		return ""
	})
	for program, want := range []int32{3, 2} {
		settings, err := Load(func(name string) string { return map[string]string{"LOCAL_BASE_URL": s.URL}[name] }, Config{}, filepath.Join(dir, "credentials.json"))
		if err != nil {
			t.Fatal(err)
		}
		before, notices := s.calls.Load(), 0
		for e, err := range New(settings).Stream(t.Context(), Request{Model: "local:x", Messages: []json.RawMessage{json.RawMessage(`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AA=="}}]}`)}}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Kind == hooks.EventNotice {
				notices++
			}
		}
		if n := s.calls.Load() - before; n != want || notices != 1 {
			t.Errorf("program %d: %d requests, want %d; %d notices, want 1", program, n, want, notices)
		}
	}
	file := filepath.Join(dir, "servers.json")
	raw, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(raw), "127.0.0.1") {
		t.Errorf("%v: %s", err, raw)
	}
	if n := len(recall(file, time.Now())); n != 1 {
		t.Errorf("%d servers are remembered, want 1", n)
	}
	if n := len(recall(file, time.Now().Add(2*rememberFor))); n != 0 {
		t.Errorf("%d servers are remembered after two days", n)
	}
}

// Schemas are objects with properties, and combine nothing at their top. (makenotion/notion-mcp-server#340,
// can1357/oh-my-pi#2652, sandialabs/atlas-ui-3#727)
func TestSchema(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"string"}`: `{"properties":{},"type":"object"}`, `{"type":"object"}`: `{"properties":{},"type":"object"}`, ``: `{"properties":{},"type":"object"}`,
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                                             `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"anyOf":[{"type":"object","properties":{"a":{}}},{"properties":{"b":{}},"required":["b"]}],"required":["a"],"x":1}`: `{"properties":{"a":{},"b":{}},"required":["a"],"type":"object","x":1}`,
		`{"type":"object","properties":{"a":{}},"not":{},"enum":[1],"required":["gone"]}`:                                     `{"properties":{"a":{}},"type":"object"}`,
	} {
		if got := string(habits{}.schema(hooks.Tool{Schema: json.RawMessage(in)})); got != want {
			t.Errorf("%s becomes %s, want %s", in, got, want)
		}
	}
}

// What is kept goes back to the model that it came from, at the same address, and to no other.
func TestKept(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, _ int) {
		stream(w, 1<<20, chat("tool_calls", `{"reasoning_content":"hm"}`, `{"tool_calls":[{"index":0,"id":"a","type":"function","extra_content":{"google":{"thought_signature":"U0lH"}},"function":{"name":"bash","arguments":"{}"}}]}`)...)
	})
	model := client(t, s, nil, Config{BaseURLs: map[string]string{"other": s.URL + "/x"}})
	var kept Kept
	for e, err := range model.Stream(t.Context(), Request{Model: "openai:x"}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == hooks.EventFinal {
			kept, _ = e.Data[FinalKept].(Kept)
		}
	}
	messages := []json.RawMessage{json.RawMessage(`{"role":"user","content":"hi"}`), json.RawMessage(`{"role":"assistant","content":"I look."}`),
		json.RawMessage(`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"bash","arguments":"{"}}]}`), json.RawMessage(`{"role":"tool","content":"x","tool_call_id":"a"}`)}
	for name, want := range map[string]bool{"openai:x": true, "openai:y": false, "other:x": false} {
		for _, err := range model.Stream(t.Context(), Request{Model: name, Messages: messages, Kept: []Kept{kept}}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, words := range []string{`"reasoning_content":"hm"`, `"thought_signature":"U0lH"`} {
			if strings.Contains(string(s.body), words) != want {
				t.Errorf("%s gets %s: %v, want %v: %s", name, words, !want, want, s.body)
			}
		}
		if !strings.Contains(string(s.body), `"content":"I look."`) || strings.Count(string(s.body), `"assistant"`) != 1 || !strings.Contains(string(s.body), `\"invalid\":\"{\"`) {
			t.Errorf("what is said and the calls are not one message with valid arguments: %s", s.body)
		}
	}
}

// Settings of a provider: its API, headers and parameters, in which variables stand for keys.
func TestServerSettings(t *testing.T) {
	var path, query, key string
	s := serve(t, nil)
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, query, key = r.URL.Path, r.URL.RawQuery, r.Header.Get("Api-Key")+r.Header.Get("X-Api-Key")
		if strings.HasSuffix(path, "messages") {
			stream(w, 1<<20, messagesAnswer...)
			return
		}
		http.Error(w, `{"error":{"message":"wrong key `+key+`"}}`, http.StatusUnauthorized)
	})
	c := Config{BaseURLs: map[string]string{"azure": s.URL + "/openai/deployments/d?x=1", "gate": s.URL + "/v1"}, APIs: map[string]string{"gate": "messages"},
		Headers: map[string]map[string]string{"azure": {"api-key": "${AZURE_KEY}"}}, Query: map[string]map[string]string{"azure": {"api-version": "2025"}}}
	t.Setenv("AZURE_KEY", "abcdef-secret")
	model := client(t, s, map[string]string{"AZURE_KEY": "abcdef-secret", "GATE_API_KEY": "gate-key"}, c)
	if _, err := ask(t.Context(), model, "azure:m"); err == nil || strings.Contains(err.Error(), "abcdef") || path != "/openai/deployments/d/chat/completions" || query != "api-version=2025&x=1" || key != "abcdef-secret" {
		t.Errorf("azure: %v; %s?%s with the key %s", err, path, query, key)
	}
	if form, err := model.Form("gate:m"); err != nil || form != view.Anthropic {
		t.Errorf("the form of a gateway for Anthropic's API: %s, %v", form, err)
	}
	if _, err := ask(t.Context(), model, "gate:m"); err != nil || path != "/v1/messages" || key != "gate-key" {
		t.Errorf("gate: %v; %s with the key %s", err, path, key)
	}
	settings, err := Load(os.Getenv, c, filepath.Join(t.TempDir(), "none"))
	if err != nil || !strings.Contains(strings.Join(settings.Keys(), " "), "abcdef-secret") {
		t.Errorf("the key in a header is not among those to be masked: %v", err)
	}
	if _, err := Load(func(string) string { return "" }, Config{Model: "azure:m", BaseURLs: c.BaseURLs, Headers: c.Headers}, filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "AZURE_KEY") {
		t.Errorf("a variable that is not set: %v", err)
	}
}
