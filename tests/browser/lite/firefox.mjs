// Opens the laboratory in Firefox, chooses a case, and prints what the page then has, as JSON:
//     node firefox.mjs puppeteer firefox address
const [puppeteer, executablePath, address] = process.argv.slice(2);
const { default: driver } = await import(puppeteer);
const timeout = 60_000; // ms
const browser = await driver.launch({ browser: "firefox", executablePath, headless: true, defaultViewport: null, args: ["--width=1280", "--height=900"] });
const page = await browser.newPage();
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
await page.goto(address);
await page.waitForSelector("#play-shown .byl[data-ready]", { timeout });
await page.waitForSelector("body[data-python=ready]", { timeout });
await page.select("#play-case", "nested-partition");
await page.waitForFunction(() => document.querySelector("#play-shown").textContent.includes("BYL001"), { timeout });
await page.waitForFunction(() => location.hash.length > 200, { timeout });
const headings = await page.$$eval("#play-shown > h2", (found) => found.map((each) => each.textContent));
console.log(JSON.stringify({ errors, headings }));
await browser.close();
