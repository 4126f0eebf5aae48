//go:build extra

package bench

import "regexp"

// The sessions of publicQuestions are public: those that these repositories had below .claude/projects, in any version
// (github.com/bradymholt/dotfiles, github.com/LZY2333/LZY-FE-JumpTrack). They belong into folders of TRANSCRIPTS with
// these names.
const (
	dotfiles  = "bradymholt-dotfiles"
	jumpTrack = "LZY2333-LZY-FE-JumpTrack"
)

// publicQuestions were written by reading the sessions. The first query is the question itself.
var publicQuestions = []publicQuestion{
	about(dotfiles, "Which library had to be upgraded for Node 22 in najax?", "najax tests node 22 upgrade", `nock v?10\.0\.6`),
	about(dotfiles, "Why was the page white after deploying to GitHub pages?", "github pages white page require", `alias forces Vite|require is not defined`),
	about(dotfiles, "How often must a payee appear to count as recurring?", "recurring charges minimum transactions", `Minimum 2 transactions`),
	about(dotfiles, "How far back are transactions fetched for recurring charges?", "recurring charges sinceDate months", `12 months`),
	about(dotfiles, "Which OAuth flow does the recurring charges app use?", "recurring charges oauth flow", `Implicit OAuth`),
	about(dotfiles, "How large is the gap between the title and the logout button?", "logout button gap title", `2rem gap`),
	about(dotfiles, "How many div elements does google.com have?", "google.com layout divs flexbox", `180 total`),
	about(dotfiles, "Why did @alias not update the loading state in the component?", "@alias getter reactivity", `Glimmer`),
	about(dotfiles, "How do we check the exact order of an array with Chai?", "chai ordered members", `ordered\.members`),
	about(dotfiles, "Why did the loading state appear although the feature flag was off?", "isSyncingBackfill feature flag", `not gated by the feature flag`),
	about(dotfiles, "What did commit f89d24a change in the register grid?", "f89d24a register grid getter", `(?i)hardcoded the getter|return false`),
	about(dotfiles, "What is config in Capybara.configure?", "Capybara.configure block config", `Capybara::Config`),
	about(dotfiles, "Where is the test for the loading state of the accounts view?", "accounts loading state test file", `integration/accounts/loading-state-test`),
	about(dotfiles, "Which name was recommended for the month that divides bootstrap and backfill?", "name dividing month bootstrap backfill", `oldestBootstrapMonth|bootstrapHorizon`),
	about(dotfiles, "Which database function fails for new test users after the two-step sync?", "permissions function fails test users sync", `get_user_permissions_by_entities_budget_id`),
	about(dotfiles, "Why does a cleared target come back with goal_type NEED?", "clear target goal_type NEED default", `setDefaultPropertiesOnCategory`),
	about(dotfiles, "Does automaticExposureTracking false turn off the DataDog provider, too?", "automaticExposureTracking DataDog", `disable your DataDog tracking`),
	about(dotfiles, "Which cache fills the session storage of the experiment client?", "QuotaExceededError EXP_sent cache", `SessionDedupeCache`),
	about(dotfiles, "Where is the Ember version of the new user flow test?", "convert new user flow rspec to QUnit", `onboarding/new-user-flow-test`),
	about(dotfiles, "What does the branch ek/api-requested-version add?", "review ek/api-requested-version", `(?i)per-request API versioning`),
	about(dotfiles, "Which Ruby version did .tool-versions ask for?", ".tool-versions ruby not set", `Ruby 4\.0\.0`),
	about(dotfiles, "How do we get the port of the running server in Capybara?", "Capybara.server_port empty", `current_session\.server\.port`),
	about(dotfiles, "How does the budget route detect the initial page load?", "initial page load transition budget route", `transition\.from === null`),
	about(dotfiles, "Which file redirects from future months without data?", "redirect future month budget", `budget/select\.ts`),
	about(dotfiles, "What is the title of the RFC about loading the web app?", "RFC web load", `Two-Step Web Load`),
	about(dotfiles, "What does deleting a target set on the server?", "target deletion goal calculations", `goal_target\W+=\W+0`),
	about(jumpTrack, "为什么ls read edit还是需要授权?", "ls 授权 settings", `重启`),
	about(jumpTrack, "GitLens的COMMITS面板和Graph有什么区别?", "COMMITS 面板 Graph", `线性列表`),
	about(jumpTrack, "博客标题要不要加编号?", "标题 编号 最佳实践", `include numbers in headings`),
	about(jumpTrack, "@/hooks/cachedState 对应哪个目录?", "cachedState 路径", `src/hooks/cachedState`),
	about(jumpTrack, "这个项目用的是App Router吗?", "App Router Pages Router", `Pages Router`),
	about(jumpTrack, "为什么项目里全局的allow规则失效?", "allow 规则 失效", `settings\.local\.json`),
	about(jumpTrack, "推送笔记的skill叫什么名字?", "推送笔记 skill", `custom-multi-repo-push`),
	about(jumpTrack, "已关联的分类列宽改成了多少?", "已关联的分类 列 宽度", `170`),
	about(jumpTrack, "PR为什么有43个文件改动?", "43个文件改动", `目标分支`),
	about(jumpTrack, "ctrl+c关闭对话以后怎么恢复?", "恢复 对话 resume", `claude --resume`),
	about(jumpTrack, "自动生成的skill用什么前缀区分?", "skill 前缀 自动生成", `auto--|custom-`),
	about(jumpTrack, "模板管理页面为什么一直loading然后崩溃?", "category.list 崩溃", `4 ?MB`),
	about(jumpTrack, "分类列改成显示哪个字段?", "分类 title categoryCode", `categoryCode`),
	about(jumpTrack, "claude code更新以后是什么版本?", "claude update 版本", `2\.1\.59`),
}

// publicQuestion is a question about a session of a public repository.
type publicQuestion struct {
	question
	from string // its folder in TRANSCRIPTS
}

func about(from, ask, words, answer string) publicQuestion {
	return publicQuestion{question{ask, []string{ask, words}, regexp.MustCompile(answer)}, from}
}
