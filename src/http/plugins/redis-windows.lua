-- Counts requests in windows, all or nothing for each count.
-- ARGV: the last instant at which this may be done (Unix ms by the clock of Redis), the length of a window (ms), then for each count:
-- the requests, the number of subjects, and the limit of each. KEYS: the subjects of all counts.
-- Returns the present instant, then for each count: the allowed requests, and for each subject the used requests and the end of the
-- window. Returns only the instant if it is too late: the server no longer waits, and a paused Redis must not count for it later.
-- Redis 6 needs this to write after it has read the clock.
if redis.replicate_commands then redis.replicate_commands() end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local answer = { now }
if now > tonumber(ARGV[1]) then return answer end
local length = tonumber(ARGV[2])
local arg, key = 3, 0
while ARGV[arg] do
  local allowed, subjects = tonumber(ARGV[arg]), tonumber(ARGV[arg + 1])
  local used, ends = {}, {}
  for nth = 1, subjects do
    local found = redis.call('HMGET', KEYS[key + nth], 'used', 'end')
    used[nth], ends[nth] = tonumber(found[1] or 0), tonumber(found[2] or 0)
    -- A window that ends too late began before the clock was set back.
    if ends[nth] <= now or ends[nth] > now + length then used[nth], ends[nth] = 0, false end
    allowed = math.max(0, math.min(allowed, tonumber(ARGV[arg + 1 + nth]) - used[nth]))
  end
  answer[#answer + 1] = allowed
  for nth = 1, subjects do
    local subject, last = KEYS[key + nth], ends[nth] or now + length
    if allowed > 0 and ends[nth] then
      redis.call('HINCRBY', subject, 'used', allowed)
    elseif allowed > 0 then
      redis.call('HSET', subject, 'used', allowed, 'end', string.format('%.0f', last))
      redis.call('PEXPIRE', subject, length)
    end
    answer[#answer + 1], answer[#answer + 2] = used[nth] + allowed, last
  end
  arg, key = arg + 2 + subjects, key + subjects
end
return answer
