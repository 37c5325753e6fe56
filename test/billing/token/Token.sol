// SPDX-License-Identifier: MIT
pragma solidity ^0.8.24;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// A token of six decimals with the transfers by authorization of EIP-3009, signed by keys only, as USDC had them before its version 2.2.
contract OldToken is ERC20, EIP712 {
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    bytes32 private constant CANCEL = keccak256("CancelAuthorization(address authorizer,bytes32 nonce)");

    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);
    event AuthorizationCanceled(address indexed authorizer, bytes32 indexed nonce);

    mapping(address authorizer => mapping(bytes32 nonce => bool used)) public authorizationState;

    constructor() ERC20("Test Dollar", "TUSD") EIP712("Test Dollar", "2") {}

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    function version() external pure returns (string memory) {
        return "2";
    }

    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    function mint(address to, uint256 value) external {
        _mint(to, value);
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        transferSigned(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferSigned(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) internal {
        require(block.timestamp > validAfter, "authorization is not yet valid");
        require(block.timestamp < validBefore, "authorization is expired");
        bytes32 digest = keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce));
        require(
            SignatureChecker.isValidSignatureNow(from, _hashTypedDataV4(digest), signature), "invalid signature"
        );
        use(from, nonce);
        emit AuthorizationUsed(from, nonce);
        _transfer(from, to, value);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s) external {
        bytes32 digest = keccak256(abi.encode(CANCEL, authorizer, nonce));
        require(ECDSA.recover(_hashTypedDataV4(digest), v, r, s) == authorizer, "invalid signature");
        use(authorizer, nonce);
        emit AuthorizationCanceled(authorizer, nonce);
    }

    function use(address authorizer, bytes32 nonce) private {
        require(!authorizationState[authorizer][nonce], "authorization is used or canceled");
        authorizationState[authorizer][nonce] = true;
    }
}

/// A token that takes signatures of contracts too (EIP-1271), as USDC since its version 2.2.
contract Token is OldToken {
    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        transferSigned(from, to, value, validAfter, validBefore, nonce, signature);
    }
}

/// A wallet that accepts the signatures of its owner, wrapped with a number as smart wallets wrap them.
contract Wallet is IERC1271 {
    address private immutable owner;
    /// Loops of this number in transactions, not in calls: what an attacker's wallet would do.
    uint256 public burn;

    constructor(address owner_) {
        owner = owner_;
    }

    function setBurn(uint256 loops) external {
        burn = loops;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (burn > 0 && tx.gasprice > 0) {
            uint256 sum;
            for (uint256 i = 0; i < burn; i++) sum ^= uint256(keccak256(abi.encode(i, sum)));
            require(sum == 0, "burnt");
        }
        (, bytes memory signed) = abi.decode(signature, (uint256, bytes));
        return ECDSA.recover(hash, signed) == owner ? IERC1271.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// Creates wallets at addresses that are known before.
contract WalletFactory {
    function create(address owner) external returns (address) {
        return address(new Wallet{salt: 0}(owner));
    }

    function addressOf(address owner) external view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(Wallet).creationCode, abi.encode(owner)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(0), code)))));
    }
}
