import { join } from 'node:path';
import solc from 'solc';

/** The compiled contract: token.json has it, so that tests need no compiler. */
export interface CompiledToken {
  readonly bytecode: `0x${string}`;
  /** Of a token that takes signatures of keys only. */
  readonly oldToken: `0x${string}`;
  /** Of the factory of smart wallets. */
  readonly walletFactory: `0x${string}`;
}

const SOURCE = join(import.meta.dir, 'Token.sol');
const FILE = join(import.meta.dir, 'token.json');
const PACKAGES = join(import.meta.dir, '..', '..', '..', 'node_modules');

/** Compiles the contract with the solc and the OpenZeppelin contracts of package.json. */
export async function compiledToken(): Promise<CompiledToken> {
  const input = {
    language: 'Solidity',
    sources: { 'Token.sol': { content: await Bun.file(SOURCE).text() } },
    settings: {
      optimizer: { enabled: true, runs: 200 },
      evmVersion: 'cancun',
      metadata: { bytecodeHash: 'none' },
      outputSelection: { 'Token.sol': { '*': ['evm.bytecode.object'] } },
    },
  };
  const { readFileSync } = await import('node:fs');
  const found = (path: string) => ({ contents: readFileSync(join(PACKAGES, path), 'utf8') });
  const output = JSON.parse(solc.compile(JSON.stringify(input), { import: found }));
  const faults = (output.errors ?? []).filter((error: { severity: string }) => error.severity === 'error');
  if (faults.length > 0)
    throw new Error(faults.map((fault: { formattedMessage: string }) => fault.formattedMessage).join('\n'));
  const { Token, OldToken, WalletFactory } = output.contracts['Token.sol'];
  return {
    bytecode: `0x${Token.evm.bytecode.object}`,
    oldToken: `0x${OldToken.evm.bytecode.object}`,
    walletFactory: `0x${WalletFactory.evm.bytecode.object}`,
  };
}

if (import.meta.main) {
  await Bun.write(FILE, `${JSON.stringify(await compiledToken())}\n`);
  console.log(`${FILE} is written`);
}
